//! The fake `libcuda.so.1` and `libnvidia-ml.so.1` of `tests/fakes`, and what stands before the C library there, built
//! once, and programs run against them.

use super::run::Ran;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Package below `tests/fakes`, what cargo calls its library, and the name by which programs open it.
const LIBRARIES: [(&str, &str, &str); 4] = [
    ("cuda", "libcuda.so", "driver/libcuda.so.1"),
    ("nvml", "libnvidia_ml.so", "driver/libnvidia-ml.so.1"),
    ("old-cuda", "libold_cuda.so", "old/libcuda.so.1"),
    ("p2p", "libp2p.so", "preload/libp2p.so"),
];

/// Name of the test that a child process is to run, see [`in_child`].
const CHILD: &str = "PEERFIX_TEST_CHILD";

/// Folder with the libraries of a driver, for `LD_LIBRARY_PATH`.
pub fn driver() -> PathBuf {
    built().join("driver")
}

/// Folder with the libraries of a driver that lacks most symbols of `libcuda.so.1`.
pub fn old_driver() -> PathBuf {
    built().join("old")
}

/// What makes reads of fake drives go wrong, for `LD_PRELOAD`.
pub fn preload() -> PathBuf {
    built().join("preload/libp2p.so")
}

fn built() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let at = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().join("fakes");
        for folder in ["driver", "old", "preload"] {
            std::fs::create_dir_all(at.join(folder)).unwrap();
        }
        // Test binaries run side by side: one of them builds.
        let lock = std::fs::File::create(at.join("lock")).unwrap();
        lock.lock().unwrap();
        for (package, made, name) in LIBRARIES {
            build(&at, package);
            place(&at.join(package).join("debug").join(made), &at.join(name));
        }
        let nvml = at.join("driver/libnvidia-ml.so.1");
        place(&nvml, &at.join("old/libnvidia-ml.so.1"));
        at
    })
}

fn build(at: &Path, package: &str) {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fakes").join(package).join("Cargo.toml");
    let output = Command::new(env!("CARGO"))
        .args(["build", "--offline", "--quiet", "--manifest-path"])
        .arg(manifest)
        .arg("--target-dir")
        .arg(at.join(package))
        .output()
        .unwrap();
    assert!(output.status.success(), "fake {package}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Puts a library in place by a rename: another test may have the old one open.
fn place(from: &Path, to: &Path) {
    let bytes = std::fs::read(from).unwrap();
    if std::fs::read(to).is_ok_and(|old| old == bytes) {
        return;
    }
    let new = to.with_extension("new");
    std::fs::write(&new, bytes).unwrap();
    std::fs::rename(new, to).unwrap();
}

/// Runs `body` in a process of its own that has the fakes in reach, told `config`. The process is this test
/// binary, asked for the test `name` alone: the libraries read their configuration once in a process.
pub fn in_child(name: &str, config: &str, body: impl FnOnce()) {
    if std::env::var(CHILD).is_ok_and(|child| child == format!("{name} {config}")) {
        return body();
    }
    if std::env::var_os(CHILD).is_some() {
        // The child was made for another configuration of the same test.
        return;
    }
    let output = child(name, config);
    let ran = String::from_utf8_lossy(&output.stdout).contains("running 1 test");
    assert!(
        ran && output.status.success(),
        "{name} with `{config}`: {}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

/// The child process of [`in_child`] for a test whose end is not success.
pub fn child(name: &str, config: &str) -> Output {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture", "--test-threads=1"])
        .env(CHILD, format!("{name} {config}"))
        .env("LD_LIBRARY_PATH", driver())
        .env("PEERFIX_FAKE", config)
        .output()
        .unwrap()
}

/// One run of peerfix against the fakes.
pub struct Bench {
    /// Told to the fakes.
    pub config: String,
    /// Folder of the libraries.
    pub libraries: PathBuf,
    /// Stands for the kernel's log.
    pub kmsg: Option<PathBuf>,
    /// Longest time that the run may take.
    pub deadline: Duration,
}

impl Bench {
    /// The usual libraries, told `config`.
    pub fn of(config: &str) -> Self {
        Self { config: config.to_owned(), libraries: driver(), kmsg: None, deadline: Duration::from_mins(3) }
    }

    /// `peerfix ARGS`; the second value is the wall time.
    #[track_caller]
    pub fn run(&self, args: &[&str]) -> (Ran, Duration) {
        let home = tempfile::tempdir().unwrap();
        let start = Instant::now();
        let output = assert_cmd::Command::new(env!("CARGO_BIN_EXE_peerfix"))
            .args(args)
            .env_clear()
            .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
            .env("HOME", home.path())
            .env("LD_LIBRARY_PATH", &self.libraries)
            .env("PEERFIX_FAKE", &self.config)
            .env("PEERFIX_ARM_DEADLINE_MS", "6000")
            .envs(self.kmsg.iter().map(|path| ("PEERFIX_KMSG", path)))
            .current_dir(home.path())
            .timeout(self.deadline)
            .output()
            .unwrap();
        let ran = Ran {
            code: output.status.code().unwrap_or_else(|| {
                panic!(
                    "peerfix {args:?} with `{}` was killed: {:?}\n{}",
                    self.config,
                    output.status,
                    String::from_utf8_lossy(&output.stderr)
                )
            }),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        };
        (ran, start.elapsed())
    }
}
