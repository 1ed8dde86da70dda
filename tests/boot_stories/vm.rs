//! One virtual machine on a disk of its own: real GRUB on SeaBIOS, Debian, a root shell on the second serial port.

use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Longest way from the reset to the shell on a busy machine.
const BOOT: Duration = Duration::from_secs(400);

/// What a command printed, and its status.
#[derive(Clone, Debug)]
pub struct Ran {
    /// Standard output and standard error.
    pub text: String,
    /// Exit status.
    pub status: i32,
}

impl Ran {
    /// Fails the test unless it ended with this status.
    #[track_caller]
    pub fn exits(self, status: i32) -> Self {
        assert_eq!(self.status, status, "{}", self.text);
        self
    }

    /// Fails the test unless it printed this.
    #[track_caller]
    pub fn says(self, words: &str) -> Self {
        assert!(self.text.contains(words), "no {words:?} in: {}", self.text);
        self
    }
}

/// A machine.
pub struct Vm {
    folder: tempfile::TempDir,
    devices: Vec<String>,
    qemu: Option<Child>,
    shell: Option<UnixStream>,
    heard: Vec<u8>,
    began: Instant,
}

/// Where the image lies (`tests/vm/boot/image.sh`).
pub fn cache() -> PathBuf {
    std::env::var_os("PEERFIX_BOOT_CACHE")
        .map_or_else(|| PathBuf::from("/var/tmp/peerfix-boot"), PathBuf::from)
}

/// The program under test.
fn program() -> PathBuf {
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/release/peerfix");
    std::env::var_os("PEERFIX_BINARY").map_or(built, PathBuf::from)
}

impl Vm {
    /// A new disk, with the program, its units and these rules of the site on it; running. `devices` are further
    /// arguments of QEMU.
    pub fn start(devices: &str, rules: &str) -> Self {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let image = cache().join("disk.qcow2");
        assert!(image.exists(), "{} is not there: run tests/vm/boot/image.sh", image.display());
        run(
            "qemu-img",
            &[
                "create",
                "-q",
                "-f",
                "qcow2",
                "-F",
                "qcow2",
                "-b",
                text(&image),
                text(&folder.path().join("disk")),
            ],
        );
        for name in ["drive-a", "drive-b"] {
            // No two words alike, so that a page in the wrong place shows.
            let words: Vec<u8> = (0..1_u32 << 22)
                .flat_map(|at| (at ^ u32::from(name.as_bytes()[6])).wrapping_mul(0x9e37_79b1).to_le_bytes())
                .collect();
            std::fs::write(folder.path().join(name), words).unwrap();
        }
        payload(&folder.path().join("payload.tar"), rules);
        let devices = devices.replace("{folder}", text(folder.path()));
        let devices = devices.split_whitespace().map(str::to_owned).collect();
        let mut vm =
            Self { folder, devices, qemu: None, shell: None, heard: Vec::new(), began: Instant::now() };
        vm.power_on();
        vm.ready();
        vm.run("tar -C / -xf $(lsblk -dnpo NAME,RO | awk '$2==1{print $1}' | head -n 1) && systemctl daemon-reload && systemctl enable peerfix-gate.service").exits(0);
        vm
    }

    /// Switches it on with the disk as it is.
    pub fn power_on(&mut self) {
        let at = |name: &str| self.folder.path().join(name);
        let _ = std::fs::remove_file(at("shell"));
        let drive = format!("if=none,id=disk,file={},format=qcow2,cache=writethrough", text(&at("disk")));
        let payload = format!("if=none,id=payload,file={},format=raw,readonly=on", text(&at("payload.tar")));
        let console = File::options().create(true).append(true).open(at("console")).unwrap();
        let shell = format!("socket,id=shell,path={},server=on,wait=off", text(&at("shell")));
        let mut command = Command::new("qemu-system-x86_64");
        command
            .args([
                "-accel",
                "tcg,thread=multi",
                "-smp",
                "2",
                "-m",
                "1024",
                "-nodefaults",
                "-display",
                "none",
            ])
            .args([
                "-machine",
                "q35,kernel-irqchip=split",
                "-cpu",
                "qemu64,vendor=GenuineIntel,family=6,model=79,-hypervisor",
            ])
            .args(["-smbios", "type=0,vendor=Example,version=1.0"])
            .args(["-smbios", "type=1,manufacturer=Example,product=Board 1"])
            .args(["-smbios", "type=2,manufacturer=Example,product=Board 1"])
            .args(["-device", "i6300esb", "-action", "watchdog=reset"])
            .args(["-drive", &drive, "-device", "virtio-blk-pci,drive=disk,addr=0x1c"])
            .args(["-drive", &payload, "-device", "virtio-blk-pci,drive=payload,addr=0x1d"])
            .args(["-chardev", "stdio,id=console", "-serial", "chardev:console"])
            .args(["-chardev", &shell, "-serial", "chardev:shell"])
            .args(&self.devices)
            .stdin(Stdio::null())
            .stdout(console)
            .stderr(File::options().create(true).append(true).open(at("qemu")).unwrap());
        self.began = Instant::now();
        self.heard.clear();
        self.qemu = Some(command.spawn().unwrap());
        let until = Instant::now() + Duration::from_secs(20);
        self.shell = loop {
            match UnixStream::connect(at("shell")) {
                Ok(stream) => break Some(stream),
                Err(error) if Instant::now() > until => panic!("{error}; {}", self.qemu_says()),
                Err(_) => std::thread::sleep(Duration::from_millis(50)),
            }
        };
    }

    /// Cuts the power: what was not on the medium is lost.
    pub fn cut(&mut self) {
        if let Some(mut qemu) = self.qemu.take() {
            let _ = qemu.kill();
            let _ = qemu.wait();
        }
    }

    /// Cuts the power and switches it on again; waits for the shell.
    pub fn power_cycle(&mut self) {
        self.cut();
        self.power_on();
        self.ready();
    }

    /// Waits until a boot has come to the shell.
    #[track_caller]
    pub fn ready(&mut self) {
        self.hear("__READY__", BOOT);
        let line = self.hear("\n", BOOT);
        let seconds = self.began.elapsed().as_secs_f64();
        println!("ready after {seconds:.1} s (uptime {})", line.trim());
    }

    /// Restarts from inside; waits for the shell of the boot that comes.
    #[track_caller]
    pub fn reboot(&mut self) {
        self.began = Instant::now();
        self.send("systemctl reboot\n");
        self.ready();
    }

    /// Runs a command of the shell.
    #[track_caller]
    pub fn run(&mut self, command: &str) -> Ran {
        self.run_for(command, Duration::from_mins(5))
    }

    /// The same with a limit of its own.
    #[track_caller]
    pub fn run_for(&mut self, command: &str, limit: Duration) -> Ran {
        self.send(&format!("{{ {command}\n}} </dev/null 2>&1; echo __END_$?__\n"));
        let text = self.hear("__END_", limit);
        let status = self.hear("__\n", limit);
        let text = text.trim_end_matches("__END_").replace('\r', "");
        println!("$ {command}\n{text}");
        Ran { text, status: status.trim_end_matches("__\n").trim().parse().unwrap() }
    }

    /// Sends a command whose end nobody waits for, and gives it its time.
    pub fn send_off(&mut self, command: &str) {
        self.run(command);
    }

    /// The running command line.
    #[track_caller]
    pub fn line(&mut self) -> String {
        self.run("cat /proc/cmdline").exits(0).text.trim().to_owned()
    }

    /// What the loaders and kernels of all boots printed.
    pub fn console(&self) -> String {
        let bytes = std::fs::read(self.folder.path().join("console")).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn send(&mut self, text: &str) {
        self.shell.as_mut().unwrap().write_all(text.as_bytes()).unwrap();
    }

    /// Everything up to and with `mark`.
    #[track_caller]
    fn hear(&mut self, mark: &str, limit: Duration) -> String {
        let until = Instant::now() + limit;
        loop {
            if let Some(at) = self.heard.windows(mark.len()).position(|w| w == mark.as_bytes()) {
                let rest = self.heard.split_off(at + mark.len());
                let heard = std::mem::replace(&mut self.heard, rest);
                return String::from_utf8_lossy(&heard).into_owned();
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let heard = String::from_utf8_lossy(&self.heard).into_owned();
                let console = self.console();
                let from = console.char_indices().rev().nth(3000).map_or(0, |(at, _)| at);
                panic!(
                    "no {mark:?} within {limit:?}; heard {heard:?}; {}; console:\n{}",
                    self.qemu_says(),
                    &console[from..]
                );
            }
            let shell = self.shell.as_mut().unwrap();
            shell.set_read_timeout(Some(left.min(Duration::from_secs(1)))).unwrap();
            let mut block = [0; 4096];
            match shell.read(&mut block) {
                Ok(0) => std::thread::sleep(Duration::from_millis(100)),
                Ok(count) => self.heard.extend_from_slice(&block[..count]),
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
                Err(error) => panic!("{error}; {}", self.qemu_says()),
            }
        }
    }

    fn qemu_says(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("qemu")).unwrap_or_default()
    }
}

impl Drop for Vm {
    fn drop(&mut self) {
        self.cut();
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[track_caller]
fn run(program: &str, arguments: &[&str]) {
    let output = Command::new(program).args(arguments).output().unwrap();
    assert!(output.status.success(), "{program} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// The program, its unit and generator, and the rules of this site, as an archive that the guest sees as a disk.
fn payload(archive: &Path, rules: &str) {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let tree = tempfile::tempdir().unwrap();
    let site = tree.path().join("site.toml");
    std::fs::write(&site, rules).unwrap();
    for (from, to, mode) in [
        (program(), "usr/bin/peerfix", "755"),
        (
            here.join("packaging/systemd/peerfix-gate.service"),
            "etc/systemd/system/peerfix-gate.service",
            "644",
        ),
        (
            here.join("packaging/systemd/peerfix-trial-generator"),
            "etc/systemd/system-generators/peerfix-trial-generator",
            "755",
        ),
        (site.clone(), "etc/peerfix/rules.d/site.toml", "644"),
    ] {
        run("install", &["-D", "-m", mode, text(&from), text(&tree.path().join(to))]);
    }
    std::fs::remove_file(site).unwrap();
    run("tar", &["-C", text(tree.path()), "--owner=0", "--group=0", "-cf", text(archive), "."]);
}
