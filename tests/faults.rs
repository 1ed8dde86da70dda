//! Census of the kernel log: rejected DMA, Xids, BARs, AER.

mod common;

use common::Tree;
use peerfix::host::faults::{Faults, FaultyDevice};
use peerfix::host::log::KernelLog;
use peerfix::host::pci::{Bar, PciDevice};
use peerfix::root::{Evidence, Fact, Root, Why};

const FIRST: &str = "[    0.000000] Linux version 6.17.4 (builder)\n";
const A: &str = "0000:21:00.0";
const B: &str = "0000:41:00.0";
const GIB: i64 = 1 << 30;

fn known<T>(value: T) -> Fact<T> {
    Fact::known(value, Evidence::new("test", ""))
}

fn function(bdf: &str, class: i64, vendor: i64, start: i64, size: i64) -> PciDevice {
    let bar = Bar { index: 1, start, end: start + size - 1, size, ..Bar::default() };
    PciDevice {
        bdf: bdf.to_owned(),
        class: known(class),
        vendor: known(vendor),
        device: known(0x1234),
        dma_mask_bits: known(44),
        bars: known(if size > 0 { vec![bar] } else { Vec::new() }),
        ..PciDevice::default()
    }
}

/// Two NVIDIA GPUs (the second above what 44 bits reach) and a USB controller.
fn host() -> Vec<PciDevice> {
    vec![
        function(A, 0x03_0000, 0x10de, 0x0a00_0000_0000, 32 * GIB),
        function(B, 0x03_0200, 0x10de, 0x3880_0000_0000, 32 * GIB),
        function("0000:00:14.0", 0x0c_0330, 0x8086, 0, 0),
    ]
}

fn census(log: &str, pci: &[PciDevice]) -> Faults {
    let tree = Tree::new().file("captured/dmesg.txt", log);
    let log = KernelLog::read(&Root::open(tree.path()).unwrap());
    Faults::read(&log, pci, &[A.to_owned(), B.to_owned()])
}

fn of(log: &str) -> Faults {
    census(&format!("{FIRST}{log}"), &host())
}

fn devices(log: &str) -> Vec<FaultyDevice> {
    of(log).devices.value().unwrap().clone()
}

fn dmar(seconds: &str, kind: &str, device: &str, address: &str) -> String {
    format!(
        "[{seconds}] DMAR: [DMA {kind} NO_PASID] Request device [{device}] fault addr {address} [fault reason 0x71] SM: x\n"
    )
}

#[test]
fn a_gpu_that_writes_into_its_peer_is_named_first_with_the_census() {
    let log = [
        dmar("   50.000000", "Write", "00:14.0", "0x1000"),
        "[   60.000000] DMAR: DRHD: handling fault status reg 2\n".to_owned(),
        dmar("   60.000000", "Write", "21:00.0", "0x388000002000"),
        dmar("   61.000000", "Write", "21:00.0", "0x088000002000"),
        dmar("   62.000000", "Read", "21:00.0", "0x0a0000001000"),
        dmar("   63.000000", "Write", "21:00.0", "0xffff0000"),
        "[   64.000000] dmar_fault: 8124 callbacks suppressed\n".to_owned(),
        "[   65.000000] dmar_fault: 31 callbacks suppressed\n".to_owned(),
        "[   65.100000] DMAR: Dump dmar0 table entries for IOVA 0x388000002000\n".to_owned(),
    ]
    .concat();
    let faults = of(&log);
    let found = faults.devices.value().unwrap();
    assert_eq!(found.len(), 2);
    let gpu = &found[0];
    assert_eq!((gpu.bdf.as_str(), gpu.is_gpu, gpu.identified, gpu.unit.as_str()), (A, true, true, "dmar"));
    assert_eq!(gpu.what, "GPU (NVIDIA 10de:1234)");
    assert_eq!((gpu.count, gpu.reads, gpu.writes), (4, 1, 3));
    assert_eq!(
        (gpu.in_peer_bar, gpu.in_masked_peer_bar, gpu.in_own_bar, gpu.elsewhere, gpu.unclassed),
        (1, 1, 1, 1, 0)
    );
    assert_eq!(gpu.peers, [B]);
    assert_eq!((gpu.reasons[0].code.as_str(), gpu.reasons[0].count), ("0x71", 4));
    assert!(gpu.reasons[0].meaning.contains("not mapped"));
    let first = &gpu.first.evidence()[0];
    assert_eq!((first.source.as_str(), first.line), ("captured/dmesg.txt", Some(4)));
    assert_eq!((faults.suppressed.value(), faults.largest_burst.value()), (Some(&8155), Some(&8124)));
    assert_eq!((found[1].is_gpu, found[1].what.as_str()), (false, "USB controller (8086:1234)"));
}

#[test]
fn header_and_setup_lines_of_a_clean_host_are_no_faults() {
    let faults = of("[    1.0] DMAR: Host address width 46\n\
                     [    1.1] DMAR: DRHD base: 0x000000fed90000 flags: 0x0\n\
                     [    1.2] DMAR: IOMMU disabled\n\
                     [    1.3] DMAR-IR: Enabled IRQ remapping in x2apic mode\n\
                     [    1.4] amdgpu 0000:21:00.0: [gfxhub] page fault (src_id:0 ring:24 vmid:3)\n");
    assert_eq!(faults.devices.value().map(Vec::len), Some(0));
    assert_eq!(faults.suppressed.value(), Some(&0));
    assert_eq!(faults.api_mismatch.value(), Some(&false));
}

#[test]
fn formats_of_all_generations_count_together() {
    let found = devices(
        "[ 9.0] DMAR: [DMA Write] Request device [21:00.0] fault addr 388000002000 [fault reason 113] SM: x\n\
         [ 9.1] DMAR: [DMA Write] Request device [21:00.0] PASID ffffffff fault addr 388000002000 [fault reason 113] x\n\
         [ 9.2] DMAR: [DMA Write NO_PASID] Request device [0x21:0x00.0] fault addr 0x388000002000 [fault reason 0x71] x\n\
         [ 9.3] DMAR: [DMA Read PASID 0x5] Request device [21:00.0] fault addr 0x388000002000 [fault reason 0x71] x\n\
         [ 9.4] DMAR: [INTR-REMAP] Request device [21:00.0] fault index 0x15 [fault reason 0x26] x\n",
    );
    assert_eq!((found[0].count, found[0].in_peer_bar, found[0].unclassed), (4, 3, 1));
    assert_eq!(found[0].reasons.len(), 1);
    assert_eq!((found[1].unit.as_str(), found[1].unclassed), ("interrupt-remapping", 1));
}

#[test]
fn amd_events_name_the_device_before_or_inside() {
    let faults = of(
        "[ 9.0] nvidia 0000:21:00.0: AMD-Vi: Event logged [IO_PAGE_FAULT domain=0x000f address=0x388000002000 flags=0x0020]\n\
         [ 9.1] AMD-Vi: Event logged [IO_PAGE_FAULT device=21:00.0 domain=0x000f address=0x388000002000 flags=0x0000]\n\
         [ 9.2] AMD-Vi: Event logged [ILLEGAL_DEV_TABLE_ENTRY device=0000:77:00.0 pasid=0x0 address=0x0 flags=0x0]\n\
         [ 9.3] amd_iommu_report_page_fault: 15 callbacks suppressed\n",
    );
    let found = faults.devices.value().unwrap();
    assert_eq!((found[0].bdf.as_str(), found[0].reads, found[0].writes, found[0].in_peer_bar), (A, 1, 1, 2));
    assert_eq!((found[1].what.as_str(), found[1].identified), ("not in this host's PCI tree", false));
    assert_eq!(faults.suppressed.value(), Some(&15));
}

#[test]
fn smmu_faults_name_the_stream_when_there_is_no_device() {
    let found = devices(
        "[ 9.0] arm-smmu 5000000.iommu: Unhandled context fault: fsr=0x402, iova=0x388000002000, fsynr=0x11, cbfrsynra=0x10c, cb=2\n\
         [ 9.1] arm-smmu-v3 arm-smmu-v3.0.auto: event 0x10 received:\n\
         [ 9.1] arm-smmu-v3 arm-smmu-v3.0.auto: \t0x0000010000000010\n\
         [ 9.1] arm-smmu-v3 arm-smmu-v3.0.auto: \t0x0000020800000000\n\
         [ 9.1] arm-smmu-v3 arm-smmu-v3.0.auto: \t0x0000000000001000\n\
         [ 9.1] arm-smmu-v3 arm-smmu-v3.0.auto: \t0x0000000000000000\n\
         [ 9.2] arm-smmu-v3 arm-smmu-v3.0.auto: event: F_TRANSLATION client: 0000:21:00.0 sid: 0x2100 ssid: 0x0 iova: 0x388000002000 ipa: 0x0\n\
         [ 9.3] arm-smmu-v3 arm-smmu-v3.0.auto: event 0x11 received:\n",
    );
    assert_eq!(found.len(), 4);
    let named: Vec<&FaultyDevice> = found.iter().filter(|d| !d.bdf.is_empty()).collect();
    assert_eq!((named[0].bdf.as_str(), named[0].in_peer_bar), (A, 1));
    let what: Vec<&str> = found.iter().map(|d| d.what.as_str()).collect();
    assert!(what.contains(&"not attributable to a PCI function (stream id 0x10c)"), "{what:?}");
    assert!(what.contains(&"not attributable to a PCI function (stream id 0x100)"), "{what:?}");
}

#[test]
fn faults_before_the_driver_are_of_the_kernel_before() {
    let early = dmar("    1.000000", "Read", "21:00.0", "0x1000");
    let bound = "[    6.000000] nvidia 0000:21:00.0: enabling device (0000 -> 0003)\n";
    let late = dmar("    7.000000", "Read", "21:00.0", "0x1000");
    let adding = "[    0.900000] pci 0000:21:00.0: Adding to iommu group 14\n";
    let before = |log: String| devices(&log)[0].before_driver;
    assert!(before(format!("{adding}{early}{bound}")));
    assert!(before(format!("{early}[    6.5] NVRM: loading NVIDIA UNIX x86_64 Kernel Module  580.1\n")));
    assert!(!before(format!("{early}{bound}{late}")));
    assert!(!before(early.clone()), "no driver was seen");
    let unstamped = early.replace("[    1.000000] ", "");
    assert!(!before(format!("{unstamped}{bound}")));
}

#[test]
fn a_segment_is_only_guessed_where_one_answer_is_left() {
    let mut pci = host();
    pci[0].bdf = "0001:21:00.0".to_owned();
    let log = format!("{FIRST}{}", dmar("9.0", "Write", "21:00.0", "0x1000"));
    let name = |pci: &[PciDevice]| census(&log, pci).devices.value().unwrap()[0].bdf.clone();
    assert_eq!(name(&pci), "0001:21:00.0");
    let mut second = pci[0].clone();
    second.bdf = "0002:21:00.0".to_owned();
    pci.push(second);
    assert_eq!(name(&pci), "0000:21:00.0");
}

#[test]
fn addresses_are_not_classed_without_bars() {
    let mut pci = host();
    pci[1].bars = Fact::default();
    let log = format!("{FIRST}{}", dmar("9.0", "Write", "21:00.0", "0x388000002000"));
    let found = census(&log, &pci).devices.value().unwrap()[0].clone();
    assert_eq!((found.unclassed, found.elsewhere, found.in_peer_bar), (1, 0, 0));
    let none = census(&log, &[]).devices.value().unwrap()[0].clone();
    assert_eq!((none.unclassed, none.identified), (1, false));
}

#[test]
fn xids_are_counted_by_gpu_and_code() {
    let faults = of("[ 9.0] NVRM: GPU at PCI:0000:21:00: GPU-00000000-1111-2222-3333-444444444444\n\
                     [ 9.1] NVRM: Xid (PCI:0000:21:00): 31, pid=77, name=python3, Ch 1\n\
                     [ 9.2] NVRM: Xid (PCI:0000:21:00 GPU-I:04): 31, pid='<unknown>', name=<unknown>, x\n\
                     [ 9.3] NVRM: Xid (PCI:0000:41:00): 79, GPU has fallen off the bus.\n");
    let seen: Vec<(&str, i64, i64)> =
        faults.xids.value().unwrap().iter().map(|x| (x.bdf.as_str(), x.code, x.count)).collect();
    assert_eq!(seen, [(A, 31, 2), (B, 79, 1)]);
}

#[test]
fn a_mismatch_counts_until_the_module_is_loaded_anew() {
    let mismatch = "[ 9.0] NVRM: API mismatch: the client has the version 580.2, but\n\
                    [ 9.0] NVRM: this kernel module has the version 580.1.  Please\n";
    assert_eq!(of(mismatch).api_mismatch.value(), Some(&true));
    let loaded = format!("{mismatch}[ 99.0] NVRM: loading NVIDIA UNIX x86_64 Kernel Module  580.2\n");
    assert_eq!(of(&loaded).api_mismatch.value(), Some(&false));
}

#[test]
fn the_last_state_of_a_bar_counts() {
    let failed = "[ 1.0] pci 0000:21:00.0: BAR 1 [mem 0x1000000-0x1ffffff 64bit pref]: can't claim; no compatible bridge window\n";
    let assigned = "[ 1.1] pci 0000:21:00.0: BAR 1 [mem 0x1000000-0x1ffffff 64bit pref]: assigned\n";
    assert_eq!(of(failed).bars_unassigned.value().unwrap(), &[A]);
    assert!(of(&format!("{failed}{assigned}")).bars_unassigned.value().unwrap().is_empty());
    let noise = "[ 1.2] pcieport 0000:00:01.0: bridge window [io  size 0x1000]: can't assign; no space\n\
                 [ 1.3] pci 0000:21:00.0: ROM [mem 0x1000-0x2fff pref]: can't claim; no compatible bridge window\n\
                 [ 1.4] pci 0000:00:14.0: BAR 0 [mem size 0x10000]: can't assign; no space\n";
    assert!(of(noise).bars_unassigned.value().unwrap().is_empty());
    let nvrm = "[ 9.0] NVRM: This PCI I/O region assigned to your NVIDIA device is invalid:\n\
                \x20               NVRM: BAR1 is 0M @ 0x0 (PCI:0000:41:00.0)\n";
    assert_eq!(of(nvrm).bars_unassigned.value().unwrap(), &[B]);
}

#[test]
fn ownership_of_aer_and_other_single_lines() {
    let faults = of("[ 1.0] acpi PNP0A08:00: _OSC: platform does not support [AER LTR DPC]\n\
                     [ 2.0] nvidia: unknown parameter 'NVreg_Whatever' ignored\n\
                     [ 3.0] amdgpu 0000:41:00.0: amdgpu: PCIe P2P access from peer device 0000:21:00.0 is not supported by the chipset\n\
                     [ 4.0] pcieport 0000:20:01.0:    [12] Timeout\n");
    assert_eq!(faults.aer_not_owned.value(), Some(&true));
    assert_eq!(faults.unknown_parameters.value().unwrap(), &["nvidia.NVreg_Whatever"]);
    assert_eq!(faults.kfd_refusals.value().unwrap(), &[format!("{B}<-{A}")]);
    assert_eq!(faults.link_trouble.value().unwrap(), &["0000:20:01.0"]);
    let owned = of("[ 1.0] acpi PNP0A08:00: _OSC: OS now controls [PCIeHotplug PME AER PCIeCapability]\n");
    assert_eq!(owned.aer_not_owned.value(), Some(&false));
}

#[test]
fn silence_of_a_log_that_starts_late_proves_nothing() {
    let faults = census("[ 99.0] something\n", &host());
    assert!(faults.devices.value().unwrap().is_empty());
    assert!(faults.devices.evidence().iter().any(|e| e.text.contains("starts late")));
    assert!(faults.xids.value().unwrap().is_empty());
    for unknown in [&faults.api_mismatch, &faults.aer_not_owned] {
        assert_eq!(unknown.reason().unwrap().why, Why::Derived);
    }
    for unknown in [&faults.bars_unassigned, &faults.link_trouble, &faults.unknown_parameters] {
        assert!(unknown.is_unknown());
    }
    let seen = census("[ 99.0] nvidia: unknown parameter 'x' ignored\n", &host());
    assert_eq!(seen.unknown_parameters.value().map(Vec::len), Some(1));
}

#[test]
fn without_a_log_nothing_is_known_and_the_reason_is_named() {
    let tree = Tree::new().dir("proc");
    let log = KernelLog::read(&Root::open(tree.path()).unwrap());
    let faults = Faults::read(&log, &host(), &[]);
    let reason = faults.devices.reason().unwrap();
    assert_eq!((reason.why, reason.path.as_str()), (Why::Derived, "captured/dmesg.txt"));
    assert!(reason.detail.contains("not captured"));
    assert!(faults.link_trouble.is_unknown() && faults.suppressed.is_unknown());
}

#[test]
fn hostile_lines_are_passed_over() {
    let endless = "DMAR: [DMA Write NO_PASID] Request device [".repeat(1 << 16);
    let log = format!(
        "{FIRST}[ 1.0] {endless}\n\
         [ 1.1] dmar_fault: 99999999999999999999999 callbacks suppressed\n\
         [ 1.2] dmar_fault: 9223372036854775807 callbacks suppressed\n\
         [ 1.3] dmar_fault: 9223372036854775807 callbacks suppressed\n\
         [ 1.4] NVRM: Xid (PCI:0000:21:00): 99999999999999999999, x\n\
         [ 1.5] DMAR: [DMA Write NO_PASID] Request device [21:00.0] fault addr 0xffffffffffffffffff [fault reason 0x71] x\n\
         [ 1.6] AMD-Vi: Event logged [\n[ 1.7] AMD-Vi: Event logged [é address=é flags=é]\n"
    );
    let faults = census(&log, &host());
    assert_eq!(faults.suppressed.value(), Some(&i64::MAX));
    let found = faults.devices.value().unwrap();
    assert!(found.iter().any(|d| d.bdf == A && d.unclassed == 1));
    assert!(faults.xids.value().unwrap().is_empty());
}
