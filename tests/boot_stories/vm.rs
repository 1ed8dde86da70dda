//! One virtual machine on a disk of its own: real GRUB on SeaBIOS, Debian, a root shell on the second serial port.
//! What a story asks of the guest is in `guest`, what it does to the hardware in `monitor`.

use super::monitor::Monitor;
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
    pub(super) folder: tempfile::TempDir,
    devices: Vec<String>,
    qemu: Option<Child>,
    shell: Option<UnixStream>,
    pub(super) monitor: Option<Monitor>,
    heard: Vec<u8>,
    /// Commands so far: the end mark of each is its own.
    commands: u32,
    /// Boots that came to the shell.
    boots: u32,
    made: Instant,
    began: Instant,
}

/// Size of the drive that carries files into the guest, bytes: fixed when the machine is switched on.
const CARRIER: u64 = 256 << 20;

/// What the shell of the image says first.
const READY: &str = "__READY__";

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
        // The name behind the link: a later recipe may move it while this machine runs.
        let image = cache().join("disk").canonicalize().unwrap_or_else(|error| {
            panic!("{}/disk: {error}; run tests/vm/boot/image.sh", cache().display())
        });
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
        let devices = devices.replace("{folder}", text(folder.path()));
        let devices = devices.split_whitespace().map(str::to_owned).collect();
        File::create(folder.path().join("carrier")).unwrap().set_len(CARRIER).unwrap();
        let mut vm = Self {
            folder,
            devices,
            qemu: None,
            shell: None,
            monitor: None,
            heard: Vec::new(),
            commands: 0,
            boots: 0,
            made: Instant::now(),
            began: Instant::now(),
        };
        vm.power_on();
        vm.ready();
        vm.install(rules);
        vm
    }

    /// The program, its unit and generator, and the rules of this site.
    fn install(&mut self, rules: &str) {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let systemd = here.join("packaging/systemd");
        let unit = "etc/systemd/system/peerfix-gate.service";
        let generator = "etc/systemd/system-generators/peerfix-trial-generator";
        self.bring(&[
            (&program(), "usr/bin/peerfix", "755"),
            (&systemd.join("peerfix-gate.service"), unit, "644"),
            (&systemd.join("peerfix-trial-generator"), generator, "755"),
        ]);
        if !rules.is_empty() {
            self.put("/etc/peerfix/rules.d/site.toml", rules);
        }
        self.run("systemctl daemon-reload && systemctl enable -q peerfix-gate.service && sync").exits(0);
    }

    /// Copies files of this machine into the guest: from, to (without the leading slash), mode. As an archive on a raw
    /// drive, which is faster than a serial line and needs no file system.
    #[track_caller]
    pub fn bring(&mut self, files: &[(&Path, &str, &str)]) {
        let tree = tempfile::tempdir().unwrap();
        for (from, to, mode) in files {
            run("install", &["-D", "-m", mode, text(from), text(&tree.path().join(to))]);
        }
        let archive = self.folder.path().join("archive");
        run("tar", &["-C", text(tree.path()), "--owner=0", "--group=0", "-cf", text(&archive), "."]);
        let bytes = std::fs::read(&archive).unwrap();
        assert!((bytes.len() as u64) < CARRIER, "{} bytes do not fit", bytes.len());
        // Written through the host's cache, which QEMU reads too; the guest reads past its own.
        let mut drive = File::options().write(true).open(self.folder.path().join("carrier")).unwrap();
        drive.write_all(&bytes).unwrap();
        let blocks = bytes.len().div_ceil(1 << 20);
        self.run(&format!(
            "dd if=/dev/$(basename $(dirname $(grep -lx carrier /sys/block/*/serial))) iflag=direct bs=1M count={blocks} \
             status=none 2>/dev/null | tar -C / --no-overwrite-dir -x"
        ))
        .exits(0);
    }

    /// Switches it on with the disk as it is.
    pub fn power_on(&mut self) {
        let at = |name: &str| self.folder.path().join(name);
        for socket in ["shell", "monitor"] {
            let _ = std::fs::remove_file(at(socket));
        }
        // Written through, so that the disk holds what the guest was told it holds when the machine is cut off.
        let drive = format!("if=none,id=disk,file={},format=qcow2,cache=writethrough", text(&at("disk")));
        let carrier = format!("if=none,id=carrier,file={},format=raw,readonly=on", text(&at("carrier")));
        let console = File::options().create(true).append(true).open(at("console")).unwrap();
        let shell = format!("socket,id=shell,path={},server=on,wait=off", text(&at("shell")));
        let monitor = format!("unix:{},server=on,wait=off", text(&at("monitor")));
        // A machine goes with the story that started it, also when that one is killed.
        let mut command = Command::new("setpriv");
        command
            .args(["--pdeathsig", "KILL", "qemu-system-x86_64"])
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
            .args(["-drive", &carrier, "-device", "virtio-blk-pci,drive=carrier,serial=carrier,addr=0x1d"])
            .args(["-chardev", "stdio,id=console", "-serial", "chardev:console"])
            .args(["-chardev", &shell, "-serial", "chardev:shell"])
            .args(["-qmp", &monitor])
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
        let monitor = Monitor::connect(&at("monitor"));
        self.monitor = Some(monitor.unwrap_or_else(|error| panic!("{error}; {}", self.qemu_says())));
    }

    /// Cuts the power: what was not on the medium is lost.
    pub fn cut(&mut self) {
        if let Some(mut qemu) = self.qemu.take() {
            let _ = qemu.kill();
            let _ = qemu.wait();
        }
        (self.shell, self.monitor) = (None, None);
    }

    /// Shuts down in order and waits until the machine is off.
    #[track_caller]
    pub fn power_off(&mut self) {
        self.send("systemctl poweroff\n");
        let until = Instant::now() + Duration::from_mins(2);
        while self.qemu.as_mut().is_some_and(|qemu| qemu.try_wait().unwrap().is_none()) {
            assert!(Instant::now() < until, "still on; console:\n{}", self.console_tail());
            std::thread::sleep(Duration::from_millis(100));
        }
        self.cut();
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
        self.hear(READY, BOOT);
        let line = self.hear("\n", BOOT);
        self.boots += 1;
        let seconds = self.began.elapsed().as_secs_f64();
        println!("ready after {seconds:.1} s (uptime {})", line.trim());
    }

    /// Restarts from inside; waits for the shell of the boot that comes.
    #[track_caller]
    pub fn reboot(&mut self) {
        self.until_restart("systemctl reboot");
    }

    /// Counts the seconds to the next shell from now.
    pub(super) fn restart_clock(&mut self) {
        self.began = Instant::now();
    }

    /// Starts a command that ends this boot (or hangs it until a watchdog does), and waits for the shell of the next.
    #[track_caller]
    pub fn until_restart(&mut self, command: &str) {
        self.restart_clock();
        self.send(&format!("{command}\n"));
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
        self.commands += 1;
        let mark = format!("__END{}_", self.commands);
        self.send(&format!("{{ {command}\n}} </dev/null 2>&1; echo {mark}$?__\n"));
        let text = self.hear(&mark, limit);
        let status = self.hear("__\n", limit);
        let text = text.trim_end_matches(&mark).replace('\r', "");
        // Of a file that is carried out, its beginning.
        println!("$ {command}\n{}", text.get(..8000).unwrap_or(&text));
        Ran { text, status: status.trim_end_matches("__\n").trim().parse().unwrap() }
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
                self.lost(&format!("no {mark:?} within {limit:?}"));
            }
            if mark != READY && self.heard.windows(READY.len()).any(|w| w == READY.as_bytes()) {
                self.lost("the machine restarted in the middle of a command");
            }
            let shell = self.shell.as_mut().unwrap();
            shell.set_read_timeout(Some(left.min(Duration::from_secs(1)))).unwrap();
            let mut block = [0; 4096];
            match shell.read(&mut block) {
                Ok(0) => self.lost("the machine is off"),
                Ok(count) => self.heard.extend_from_slice(&block[..count]),
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
                Err(error) => panic!("{error}; {}", self.qemu_says()),
            }
        }
    }

    /// Ends the story with everything that tells why.
    #[track_caller]
    fn lost(&self, why: &str) -> ! {
        let heard = String::from_utf8_lossy(&self.heard).into_owned();
        panic!("{why}; heard {heard:?}; {}; console:\n{}", self.qemu_says(), self.console_tail())
    }

    fn console_tail(&self) -> String {
        let console = self.console();
        let from = console.char_indices().rev().nth(3000).map_or(0, |(at, _)| at);
        console[from..].to_owned()
    }

    /// What the emulator complained about, without the processor features that it cannot emulate.
    fn qemu_says(&self) -> String {
        let said = std::fs::read_to_string(self.folder.path().join("qemu")).unwrap_or_default();
        said.lines().filter(|l| !l.contains("TCG doesn't support")).collect::<Vec<_>>().join("\n")
    }

    /// What this story cost, for `run.sh`, and the console of one that failed.
    fn note(&self) {
        let thread = std::thread::current();
        let name = thread.name().unwrap_or("story");
        if let Some(path) = std::env::var_os("PEERFIX_BOOT_TIMES")
            && let Ok(mut times) = File::options().create(true).append(true).open(path)
        {
            let _ = writeln!(times, "{:5} s {:2} boots  {name}", self.made.elapsed().as_secs(), self.boots);
        }
        if std::thread::panicking() {
            let kept =
                Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}.console", name.replace("::", "-")));
            if std::fs::write(&kept, self.console()).is_ok() {
                eprintln!("console: {}", kept.display());
            }
        }
    }
}

impl Drop for Vm {
    fn drop(&mut self) {
        self.cut();
        self.note();
    }
}

pub(super) fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[track_caller]
pub(super) fn run(program: &str, arguments: &[&str]) {
    let output = Command::new(program).args(arguments).output().unwrap();
    assert!(output.status.success(), "{program} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}
