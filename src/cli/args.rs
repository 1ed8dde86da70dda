//! The command line's shape. Help text is the reference that the man pages are made from.

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// Makes GPU-to-GPU transfer on a Linux host right, proves it, and can take everything back.
///
/// Without a command: a short summary of `audit` and the next command to type.
#[derive(Debug, Parser)]
#[command(name = "peerfix", version, propagate_version = true, max_term_width = 100, after_long_help = super::exit::STATUS)]
pub struct Cli {
    /// Options of every command.
    #[command(flatten)]
    pub global: Global,
    /// What to do.
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// Options that every command takes, also behind it.
#[derive(Clone, Debug, Args)]
pub struct Global {
    /// Form of the output
    #[arg(long, global = true, value_enum, default_value_t = FormatArg::Text, value_name = "FORM")]
    pub format: FormatArg,
    /// Read facts from this root tree instead of the live machine (`/` is the live machine)
    #[arg(long, global = true, value_name = "PATH")]
    pub host: Option<PathBuf>,
    /// Colour: auto, always, never (NO_COLOR is honoured)
    #[arg(long, global = true, value_enum, default_value_t = ColorArg::Auto, value_name = "WHEN")]
    pub color: ColorArg,
    /// Print only the result and errors
    #[arg(short, long, global = true)]
    pub quiet: bool,
    /// Print all evidence, passed rules and refutations
    #[arg(short, long, global = true)]
    pub verbose: bool,
}

/// Output form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FormatArg {
    /// For people
    Text,
    /// For programs, versioned
    Json,
    /// For issue threads
    Markdown,
}

/// When to colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ColorArg {
    /// In a terminal
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Evaluate all rules; report findings, pairs and proposed changes; writes nothing
    Audit(AuditArgs),
    /// Show the changes only: diffs, the resulting command line, commands, risks, the way back; writes nothing
    Plan(PlanArgs),
    /// Make the changes that need no consent, without questions, for installers and images
    Provision(ProvisionArgs),
    /// Measure peer and staged transfers of every pair of GPUs, or of drives; write a record
    Bench(BenchArgs),
    /// Compare two benchmark records: better, same, worse, corrupt, or why they do not compare
    Compare(CompareArgs),
    /// Take a change back
    #[command(visible_alias = "undo")]
    Revert(RevertArgs),
    /// Where every change stands
    Status(StateArgs),
    /// Every change that was made, the newest last
    History(StateArgs),
    /// One change in full
    Show(ShowArgs),
    /// Go on with a pending trial boot (run by the boot unit)
    #[command(hide = true)]
    Gate(GateArgs),
    /// A worker of `bench`
    #[command(name = crate::bench::WORKER, hide = true)]
    BenchWorker {
        /// What it measures, when that is not GPUs.
        #[arg(value_parser = [crate::bench::DRIVES])]
        what: Option<String>,
    },
    /// The catalogue of rules
    Rules(RulesArgs),
    /// Completions for a shell
    Completions(CompletionsArgs),
}

/// When findings make the exit code 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FailOn {
    /// A finding of status fail
    Fail,
    /// A finding of status fail or warn
    Warn,
    /// A finding of status fail, warn or unknown
    Unknown,
    /// Never
    Never,
}

/// `audit`.
#[derive(Debug, Args)]
pub struct AuditArgs {
    /// Exit with 1 from this status on
    #[arg(long, value_enum, default_value_t = FailOn::Fail, value_name = "STATUS")]
    pub fail_on: FailOn,
}

/// `plan`.
#[derive(Debug, Args)]
pub struct PlanArgs {
    /// Read configuration below this directory instead of `/`
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
    /// Only changes for this rule (repeatable)
    #[arg(long, value_name = "RULE")]
    pub only: Vec<String>,
    /// Accept a named risk (repeatable): dma-isolation, acs-isolation, stray-dma, kernel-patch,
    /// unsafe-registry-key, hardening-policy, unattended-unlock
    #[arg(long, value_name = "NAME")]
    pub accept_risk: Vec<String>,
}

/// `provision`.
#[derive(Debug, Args)]
pub struct ProvisionArgs {
    /// Make the changes; without it the plan is printed and the exit code is 3
    #[arg(long)]
    pub yes: bool,
    /// Write the permanent configuration without a trial boot
    #[arg(long)]
    pub no_trial: bool,
    /// Read and write configuration below this directory instead of `/`
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
    /// Run the target's own programs (update-grub, initramfs tool) inside it; it must be a mount point owned by
    /// root with /dev, /proc and /sys mounted. Without it the commands are printed and the exit code is 7
    #[arg(long, requires = "root")]
    pub run_in_target: bool,
    /// Only changes for this rule (repeatable)
    #[arg(long, value_name = "RULE")]
    pub only: Vec<String>,
    /// Accept a named risk (repeatable): dma-isolation, acs-isolation, stray-dma, kernel-patch,
    /// unsafe-registry-key, hardening-policy, unattended-unlock
    #[arg(long, value_name = "NAME")]
    pub accept_risk: Vec<String>,
    /// Exit with 77 when there is nothing to change
    #[arg(long)]
    pub unchanged_exit_77: bool,
    /// Reboot into the trial now, and after its verdict into what it decided
    #[arg(long, conflicts_with = "no_trial")]
    pub reboot: bool,
    /// Measure with fewer and smaller samples, before and in the trial
    #[arg(long, conflicts_with = "no_trial")]
    pub quick: bool,
    /// Stop taking samples after so many seconds, before and in the trial
    #[arg(long, conflicts_with = "no_trial", value_parser = seconds, value_name = "SECONDS")]
    pub budget: Option<f64>,
    /// Keep a change that makes transfers possible though slower than what they replace
    #[arg(long, conflicts_with = "no_trial")]
    pub accept_slower: bool,
    /// Do not let the hardware watchdog restart a trial that hangs
    #[arg(long, conflicts_with = "no_trial")]
    pub no_watchdog: bool,
    /// Reboot out of the trial after so many seconds unless it is judged by then
    #[arg(long, conflicts_with = "no_trial", default_value = "900", value_parser = clap::value_parser!(u32).range(120..86400), value_name = "SECONDS")]
    pub deadline: u32,
}

/// `gate`.
#[derive(Debug, Args)]
pub struct GateArgs {
    /// State and configuration below this directory instead of `/`
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
}

/// `compare`.
#[derive(Debug, Args)]
pub struct CompareArgs {
    /// Record before the change
    #[arg(value_name = "A")]
    pub before: PathBuf,
    /// Record after the change
    #[arg(value_name = "B")]
    pub after: PathBuf,
    /// Smallest change that matters, in percent (latencies: or 0.2 us, if that is more)
    #[arg(long, default_value = "3", value_name = "PERCENT", value_parser = super::compare::threshold)]
    pub threshold: f64,
}

/// `revert`.
#[derive(Debug, Args)]
pub struct RevertArgs {
    /// Number of the change, `last` or `all`
    #[arg(default_value = "last", value_name = "ID")]
    pub which: String,
    /// Show what would be done
    #[arg(long)]
    pub dry_run: bool,
    /// State and configuration below this directory instead of `/`
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
    /// Run the target's own programs inside it
    #[arg(long, requires = "root")]
    pub run_in_target: bool,
}

/// `status` and `history`.
#[derive(Debug, Args)]
pub struct StateArgs {
    /// State below this directory instead of `/`
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
}

/// `show`.
#[derive(Debug, Args)]
pub struct ShowArgs {
    /// Number of the change, or `last`
    #[arg(value_name = "ID")]
    pub which: String,
    /// State below this directory instead of `/`
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
}

/// `bench`.
#[derive(Debug, Args)]
pub struct BenchArgs {
    /// Only these GPUs, by number in the driver's order or by PCI address, separated by commas
    #[arg(long, value_delimiter = ',', value_name = "LIST")]
    pub gpus: Vec<String>,
    /// Measure NVMe drives that read into memory which another device publishes (the CMB of a drive), by the kernel's
    /// own peer-to-peer DMA; drives are only read. Without this, drives are measured where there are no two GPUs
    #[arg(long, conflicts_with_all = ["gpus", "wait"])]
    pub p2pmem: bool,
    /// Fewer and smaller samples
    #[arg(long)]
    pub quick: bool,
    /// Stop taking samples after so many seconds; what was not measured by then is named
    #[arg(long, value_parser = seconds, value_name = "SECONDS")]
    pub budget: Option<f64>,
    /// Wait until nobody else uses the GPUs, in place of refusing
    #[arg(long)]
    pub wait: bool,
    /// Write the record to this file instead of the folder of records
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// A positive number of seconds.
fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if seconds.is_finite() && seconds > 0.0 => Ok(seconds),
        _ => Err("expected a positive number of seconds".to_owned()),
    }
}

/// `rules`.
#[derive(Debug, Args)]
pub struct RulesArgs {
    /// What to do with the catalogue.
    #[command(subcommand)]
    pub command: RulesCommand,
}

/// The commands of `rules`.
#[derive(Debug, Subcommand)]
pub enum RulesCommand {
    /// Every rule with its title and severity
    List,
    /// One rule: why it matters, how to check by hand, sources, remedies
    Explain {
        /// Rule id
        #[arg(value_name = "RULE")]
        id: String,
    },
    /// Check every rule file and run the examples of every rule
    Check {
        /// Rule files to check instead of the catalogue
        #[arg(value_name = "FILE")]
        files: Vec<PathBuf>,
    },
}

/// `completions`.
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// Shell
    #[arg(value_enum)]
    pub shell: Shell,
}

/// Shells with completions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Shell {
    /// bash
    Bash,
    /// zsh
    Zsh,
    /// fish
    Fish,
}
