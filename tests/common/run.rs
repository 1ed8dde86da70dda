//! Runs the built program; its audits are asked with [`super::contract`].

use super::Tree;
use serde_json::Value;
use std::time::Duration;

/// Longest time that one run may take in a development build.
const DEADLINE: Duration = Duration::from_mins(2);

/// What one run gave.
#[derive(Debug)]
pub struct Ran {
    /// Exit code.
    pub code: i32,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl Ran {
    /// Standard output as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|e| panic!("no JSON on stdout: {e}\n{}\n{}", self.stdout, self.stderr))
    }

    /// Checks the exit code.
    #[track_caller]
    pub fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, code, "exit code\nstdout: {}\nstderr: {}", self.stdout, self.stderr);
        self
    }

    /// Checks that the exit code is one of `codes`.
    #[track_caller]
    pub fn exits_one_of(self, codes: &[i32]) -> Self {
        assert!(codes.contains(&self.code), "exit code {}\n{}\n{}", self.code, self.stdout, self.stderr);
        self
    }

    /// Everything that was printed.
    pub fn printed(&self) -> String {
        format!("{}{}", self.stdout, self.stderr)
    }
}

/// Runs peerfix with a bare environment, in an empty folder that must stay empty.
#[track_caller]
pub fn peerfix(args: &[&str]) -> Ran {
    let home = tempfile::tempdir().unwrap();
    let output = assert_cmd::Command::new(env!("CARGO_BIN_EXE_peerfix"))
        .args(args)
        .env_clear()
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
        .env("HOME", home.path())
        .current_dir(home.path())
        .timeout(DEADLINE)
        .output()
        .unwrap();
    let left = std::fs::read_dir(home.path()).unwrap().count();
    assert_eq!(left, 0, "peerfix {args:?} left files in the working folder");
    Ran {
        code: output
            .status
            .code()
            .unwrap_or_else(|| panic!("peerfix {args:?} was killed: {:?}", output.status)),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// `peerfix ARGS --host TREE --format json`.
#[track_caller]
pub fn on_host(tree: &Tree, args: &[&str]) -> Ran {
    let mut all = args.to_vec();
    all.extend(["--host", tree.path().to_str().unwrap(), "--format", "json"]);
    peerfix(&all)
}

/// `peerfix ARGS --root TREE --format json`.
#[track_caller]
pub fn on_root(tree: &Tree, args: &[&str]) -> Ran {
    let mut all = args.to_vec();
    all.extend(["--root", tree.path().to_str().unwrap(), "--format", "json"]);
    peerfix(&all)
}
