//! modprobe.d as kmod reads it, with the command line after it.

mod common;
use common::Tree;
use peerfix::host::cmdline::Cmdline;
use peerfix::host::modprobe::{Modprobe, ModuleOption};
use peerfix::root::{Evidence, Fact, Root, Why};

fn read(tree: &Tree, cmdline: &str) -> Modprobe {
    let words = cmdline.split(' ').filter(|w| !w.is_empty()).map(str::to_owned).collect();
    let line = Cmdline { text: cmdline.to_owned(), words, options: Vec::new() };
    Modprobe::read(
        &Root::open(tree.path()).unwrap(),
        &Fact::known(line, Evidence::new("proc/cmdline", cmdline)),
    )
}

/// `module.name=value in file:line`, with `!` for a lost one.
fn shown(modprobe: &Modprobe) -> Vec<String> {
    let show = |o: &ModuleOption| {
        let lost = if o.in_force { "" } else { "!" };
        format!("{lost}{}.{}={} {}:{}", o.module, o.name, o.value, o.file, o.line)
    };
    modprobe.options.value().unwrap().iter().map(show).collect()
}

#[test]
fn options_are_taken_word_for_word_with_the_kernels_quotes() {
    let tree = Tree::new().file(
        "etc/modprobe.d/a.conf",
        "# options nvidia NVreg_Commented=1\n\n\
         options nvidia NVreg_RegistryDwords=\"Alpha=0x1;Beta=2\" NVreg_TemporaryFilePath=\n\
         options nvidia-drm modeset=1 \\\n  fbdev=0\n\
         options vfio-pci ids=10de:1234,10de:5678 disable_vga\n",
    );
    assert_eq!(
        shown(&read(&tree, "")),
        [
            "nvidia.NVreg_RegistryDwords=Alpha=0x1;Beta=2 etc/modprobe.d/a.conf:3",
            "nvidia.NVreg_TemporaryFilePath= etc/modprobe.d/a.conf:3",
            "nvidia_drm.modeset=1 etc/modprobe.d/a.conf:4",
            "nvidia_drm.fbdev=0 etc/modprobe.d/a.conf:4",
            "vfio_pci.ids=10de:1234,10de:5678 etc/modprobe.d/a.conf:6",
            "vfio_pci.disable_vga= etc/modprobe.d/a.conf:6",
        ]
    );
}

#[test]
fn the_last_assignment_wins_across_files_and_the_command_line_comes_last() {
    let tree = Tree::new()
        .file("usr/lib/modprobe.d/zz.conf", "options nvidia NVreg_RegistryDwords=Third=3\n")
        .file("etc/modprobe.d/10.conf", "options nvidia NVreg_RegistryDwords=First=1\n")
        .file("etc/modprobe.d/20.conf", "options nvidia NVreg_RegistryDwords=Second=2\n");
    let files = read(&tree, "quiet");
    let options = files.options.value().unwrap();
    assert_eq!(options.iter().map(|o| o.in_force).collect::<Vec<_>>(), [false, false, true]);
    assert_eq!(options[0].shadowed_by, "usr/lib/modprobe.d/zz.conf:1");
    assert_eq!(options[2].shadowed_by, "");

    let both = read(&tree, "quiet nvidia.NVreg_RegistryDwords=Fourth=4 nvidia.NVReg_RegistryDwords=Typo=1");
    let options = both.options.value().unwrap();
    assert_eq!(options.len(), 5);
    assert!(options[..3].iter().all(|o| o.shadowed_by == "proc/cmdline:1"));
    // Parameters are case-sensitive: the misspelt one shadows nothing.
    assert!(options[3].in_force && options[4].in_force);
    assert_eq!(options[3].value, "Fourth=4");
}

#[test]
fn both_quote_forms_of_the_command_line_are_understood() {
    let words = vec![r#"nvidia.NVreg_A="a b""#.to_owned(), r#""nvidia.NVreg_B=c d""#.to_owned()];
    let line = Cmdline { text: String::new(), words, options: Vec::new() };
    let tree = Tree::new().dir("etc");
    let modprobe = Modprobe::read(
        &Root::open(tree.path()).unwrap(),
        &Fact::known(line, Evidence::new("proc/cmdline", "")),
    );
    assert_eq!(shown(&modprobe), ["nvidia.NVreg_A=a b proc/cmdline:1", "nvidia.NVreg_B=c d proc/cmdline:1"]);
}

#[test]
fn a_name_in_a_higher_directory_masks_the_lower_one() {
    let tree = Tree::new()
        .file("lib/modprobe.d/gpu.conf", "options nvidia NVreg_Lib=1\n")
        .file("usr/lib/modprobe.d/gpu.conf", "options nvidia NVreg_UsrLib=1\n")
        .file("run/modprobe.d/gpu.conf", "options nvidia NVreg_Run=1\n")
        .file("usr/lib/modprobe.d/off.conf", "options nvidia NVreg_Off=1\n")
        .link("etc/modprobe.d/off.conf", "/dev/null")
        .file("usr/lib/modprobe.d/note.txt", "options nvidia NVreg_Txt=1\n")
        .file("etc/modprobe.d/old.conf.bak", "options nvidia NVreg_Bak=1\n")
        .dir("etc/modprobe.d/dir.conf");
    assert_eq!(shown(&read(&tree, "")), ["nvidia.NVreg_Run=1 run/modprobe.d/gpu.conf:1"]);
}

#[test]
fn blacklists_installs_and_softdeps_are_listed() {
    let tree = Tree::new().file(
        "etc/modprobe.d/block.conf",
        "blacklist nvidia-uvm\ninstall nvidia /bin/false\nremove nvidia /bin/true\n\
         softdep amdgpu pre: vfio-pci\nalias a b\n",
    );
    let modprobe =
        read(&tree, "modprobe.blacklist=nouveau,nova-core module_blacklist=radeon rd.driver.blacklist=x");
    let names = |list: &Fact<Vec<peerfix::host::modprobe::ModuleLine>>| {
        list.value().unwrap().iter().map(|l| l.module.clone()).collect::<Vec<_>>()
    };
    assert_eq!(names(&modprobe.blacklist), ["nvidia_uvm", "nouveau", "nova_core", "radeon"]);
    assert_eq!(names(&modprobe.installs), ["nvidia", "nvidia"]);
    assert_eq!(modprobe.installs.value().unwrap()[0].text, "install nvidia /bin/false");
    assert_eq!(names(&modprobe.softdeps), ["amdgpu"]);
    assert!(shown(&modprobe).is_empty());
    assert!(modprobe.malformed.is_empty());
}

#[test]
fn lines_that_kmod_would_not_take_are_named_and_the_rest_is_read() {
    let tree = Tree::new()
        .file(
            "etc/modprobe.d/a.conf",
            "options nvidia\noption nvidia x=1\n  # indented\ninstall nvidia\noptions nvidia a=\"open\n\
             blacklist nouveau\r\n",
        )
        .file("etc/modprobe.d/b.conf", b"# caf\xe9\noptions nvidia NVreg_\xff=1\noptions nvidia good=1\n");
    let modprobe = read(&tree, "");
    let places: Vec<String> = modprobe.malformed.iter().map(|m| format!("{}:{}", m.file, m.line)).collect();
    let a = |n: i32| format!("etc/modprobe.d/a.conf:{n}");
    assert_eq!(places, [a(1), a(2), a(3), a(4), a(5), a(6), "etc/modprobe.d/b.conf:2".to_owned()]);
    assert_eq!(shown(&modprobe), ["nvidia.good=1 etc/modprobe.d/b.conf:3"]);
}

#[test]
fn no_files_beside_an_etc_is_an_empty_list_and_no_etc_is_unknown() {
    assert_eq!(read(&Tree::new().dir("etc"), "").options.value().map(Vec::len), Some(0));
    let unknown = read(&Tree::new().dir("proc"), "nvidia.a=1");
    assert_eq!(unknown.options.reason().unwrap().why, Why::NotCaptured);
}

#[test]
fn hostile_files_do_not_stop_the_others() {
    let mut long = b"options nvidia big=".to_vec();
    long.resize(10 << 20, b'x');
    let tree = Tree::new()
        .file("etc/modprobe.d/long.conf", &long)
        .file("etc/modprobe.d/cut.conf", "options nvidia cut=1 \\")
        .file("etc/modprobe.d/empty.conf", "")
        .link("etc/modprobe.d/loop.conf", "loop.conf");
    let modprobe = read(&tree, "");
    let names: Vec<&str> = modprobe.options.value().unwrap().iter().map(|o| o.name.as_str()).collect();
    assert_eq!(names, ["cut", "big"]);
    assert_eq!(modprobe.malformed.len(), 1);
    assert_eq!(modprobe.malformed[0].file, "etc/modprobe.d/loop.conf");
}

#[test]
fn a_file_that_cannot_be_seen_whole_leaves_the_lists_unknown() {
    let dangling = Tree::new().link("etc/modprobe.d/nv.conf", "/etc/alternatives/nv.conf");
    let reason = read(&dangling, "").options.reason().cloned().unwrap();
    assert_eq!((reason.why, reason.path.as_str()), (Why::NotCaptured, "etc/modprobe.d/nv.conf"));

    let huge = Tree::new().file("etc/modprobe.d/huge.conf", vec![b'#'; (16 << 20) + 1]);
    assert_eq!(read(&huge, "").options.reason().unwrap().why, Why::TooLarge);
}
