//! A host with NVMe drives and memory for peers, out of ordinary files, and `peerfix bench` run on it.

use super::Tree;
use super::fakes::{driver, preload};
use super::run::Ran;
use peerfix::bench::record::{Arm, PairRecord, Record};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;
use std::time::Duration;

/// Bytes of a drive.
pub const SIZE: usize = 8 << 20;

/// The address of a device.
pub fn bdf(number: usize) -> String {
    format!("0000:{:02x}:00.0", number + 3)
}

/// A host below one switch.
pub struct Drives {
    pub tree: Tree,
    pub count: usize,
}

impl Drives {
    /// `count` drives, each with a CMB of 16 MiB and content that repeats nowhere.
    pub fn new(count: usize) -> Self {
        let mut tree =
            Tree::new().file("etc/machine-id", "0123456789abcdef0123456789abcdef\n").dir("sys/class/nvme");
        for number in 0..count {
            tree = tree.drive(number);
        }
        Self { tree, count }
    }

    /// Changes the tree.
    pub fn with(mut self, change: impl FnOnce(Tree) -> Tree) -> Self {
        self.tree = change(self.tree);
        self
    }

    /// What all drives hold.
    pub fn content(&self) -> Vec<Vec<u8>> {
        (0..self.count)
            .map(|n| std::fs::read(self.tree.path().join(format!("dev/nvme{n}n1"))).unwrap())
            .collect()
    }

    /// `peerfix bench ARGS -o FILE`, where reads go wrong as `fault` says. Drives must be as they were.
    pub fn bench(&self, fault: &str, args: &[&str]) -> Bench {
        self.bench_with(fault, args, &[])
    }

    /// The same with more variables.
    pub fn bench_with(&self, fault: &str, args: &[&str], variables: &[(&str, &str)]) -> Bench {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("record.json");
        let kmsg = folder.path().join("kmsg");
        std::fs::write(&kmsg, "").unwrap();
        let before = self.content();
        let output = assert_cmd::Command::new(env!("CARGO_BIN_EXE_peerfix"))
            .arg("bench")
            .args(args)
            .arg("-o")
            .arg(&file)
            .env_clear()
            .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
            .env("PEERFIX_P2PMEM_ROOT", self.tree.path())
            .env("PEERFIX_ARM_DEADLINE_MS", "6000")
            .env("PEERFIX_KMSG", &kmsg)
            .env("PEERFIX_FAKE", fault)
            .env("LD_PRELOAD", preload())
            .envs(variables.iter().copied())
            .current_dir(folder.path())
            .timeout(Duration::from_mins(2))
            .output()
            .unwrap();
        assert!(self.content() == before, "a drive was written to with `{fault}`");
        let ran = Ran {
            code: output.status.code().unwrap_or_else(|| panic!("killed: {output:?}")),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        };
        let record = std::fs::read_to_string(&file).ok().map(|text| serde_json::from_str(&text).unwrap());
        Bench { ran, record, file, _folder: folder }
    }
}

/// Folder with the fake GPU libraries, as `LD_LIBRARY_PATH` has it.
pub fn gpu_libraries() -> PathBuf {
    driver()
}

impl Tree {
    /// Drive `number` with its memory.
    pub fn drive(self, number: usize) -> Self {
        let (name, bdf) = (format!("nvme{number}"), bdf(number));
        let device = format!("sys/devices/pci0000:00/0000:00:09.0/0000:01:00.0/0000:02:{number:02x}.0/{bdf}");
        let mut random = super::record::Random(number as u64 + 17);
        let content: Vec<u8> = (0..SIZE / 8)
            .flat_map(|_| {
                random.uniform();
                random.0.wrapping_mul(0x2545_f491_4f6c_dd1d).to_le_bytes()
            })
            .collect();
        let tree = self
            .file(&format!("{device}/p2pmem/size"), "16777216\n")
            .file(&format!("{device}/p2pmem/available"), "16777216\n")
            .file(&format!("{device}/p2pmem/published"), "1\n")
            .file(&format!("{device}/p2pmem/allocate"), vec![0; 16 << 20])
            .file(&format!("{device}/class"), "0x010802\n")
            .file(&format!("{device}/vendor"), "0x1b36\n")
            .file(&format!("{device}/device"), "0x0010\n")
            .file(&format!("{device}/current_link_speed"), "8.0 GT/s PCIe\n")
            .file(&format!("{device}/max_link_speed"), "16.0 GT/s PCIe\n")
            .file(&format!("{device}/current_link_width"), "4\n")
            .file(&format!("{device}/max_link_width"), "4\n")
            .link(&format!("sys/bus/pci/devices/{bdf}"), &format!("../../../../{device}"))
            .file(&format!("sys/class/nvme/{name}/address"), format!("{bdf}\n"))
            .file(&format!("sys/class/nvme/{name}/model"), "Fake NVMe Ctrl                          \n")
            .file(&format!("sys/class/nvme/{name}/serial"), format!("serial-{number}\n"))
            .dir(&format!("sys/class/nvme/{name}/{name}n1"))
            .file(&format!("sys/class/block/{name}n1/size"), format!("{}\n", SIZE / 512))
            .file(&format!("sys/class/block/{name}n1/queue/logical_block_size"), "512\n");
        tree.file(&format!("dev/{name}n1"), content)
    }
}

/// What one run gave.
pub struct Bench {
    pub ran: Ran,
    pub record: Option<Record>,
    pub file: PathBuf,
    _folder: tempfile::TempDir,
}

impl Bench {
    /// Checks the exit code.
    #[track_caller]
    pub fn exits(self, code: i32) -> Self {
        assert_eq!(self.ran.code, code, "{:?}\n{}", self.ran, self.brief());
        self
    }

    #[track_caller]
    pub fn record(&self) -> &Record {
        self.record.as_ref().unwrap_or_else(|| panic!("no record: {:?}", self.ran))
    }

    #[track_caller]
    pub fn pair(&self, from: usize, to: usize) -> &PairRecord {
        let found = self.record().pairs.iter().find(|pair| pair.from == bdf(from) && pair.to == bdf(to));
        found.unwrap_or_else(|| panic!("no pair {from} to {to}: {}", self.brief()))
    }

    #[track_caller]
    pub fn arm(&self, from: usize, to: usize, name: &str) -> &Arm {
        let found = self.pair(from, to).arms.iter().find(|arm| arm.name == name);
        found.unwrap_or_else(|| panic!("no arm {name}: {}", self.brief()))
    }

    pub fn arms(&self) -> impl Iterator<Item = &Arm> {
        self.record().pairs.iter().flat_map(|pair| &pair.arms)
    }

    /// How each arm ended.
    pub fn brief(&self) -> String {
        let mut text = String::new();
        let Some(record) = &self.record else { return text };
        for pair in &record.pairs {
            for arm in &pair.arms {
                let _ = writeln!(
                    text,
                    "{} > {} {}: {:?} {} {:?} {:?}",
                    pair.from, pair.to, arm.name, arm.outcome, arm.why, arm.errors, arm.deltas
                );
            }
        }
        let _ = writeln!(text, "{:?} {:?}", record.notes, record.phases);
        text
    }

    /// Mechanisms of an arm with the words of each.
    pub fn mechanisms(&self, from: usize, to: usize, name: &str) -> BTreeMap<String, u64> {
        self.arm(from, to, name).errors.iter().map(|error| (error.mechanism.clone(), error.words)).collect()
    }
}
