//! Parse, run, exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    peerfix::cli::main()
}
