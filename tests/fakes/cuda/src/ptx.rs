//! What the JIT compiler of the driver would refuse, and the entry points with the sizes of their parameters.

use crate::code::{INVALID_PTX, NO_BINARY_FOR_GPU, UNSUPPORTED_PTX_VERSION};
use crate::config::Config;

/// One `.visible .entry`.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) name: String,
    /// Bytes of each parameter, in order.
    pub(crate) parameters: Vec<usize>,
}

/// Reads a module; the error is a code and a line for the error log.
pub(crate) fn parse(text: &str) -> Result<Vec<Entry>, (i32, String)> {
    let code: String =
        text.lines().map(|l| l.split("//").next().unwrap_or("")).collect::<Vec<_>>().join("\n");
    let directive = |name: &str| {
        let at = code.find(name)? + name.len();
        code[at..].split_whitespace().next().map(str::to_owned)
    };
    let broken = |why: &str| (INVALID_PTX, format!("ptxas fatal : {why}"));
    let version = directive(".version").ok_or_else(|| broken("Missing .version directive"))?;
    let target = directive(".target").ok_or_else(|| broken("Missing .target directive"))?;
    let config = Config::get();
    // PTX 6.4 came with CUDA 10.1, 7.0 with 11.0.
    let needs = if version.starts_with("6.") { 10010 } else { 11000 };
    if config.api < needs {
        return Err((UNSUPPORTED_PTX_VERSION, format!("Unsupported .version {version}")));
    }
    let sm: i32 =
        target.trim_start_matches("sm_").trim_end_matches(',').parse().map_err(|_| broken("target"))?;
    if sm > config.capability.0 * 10 + config.capability.1 {
        return Err((NO_BINARY_FOR_GPU, format!("{target} is above this GPU")));
    }
    if code.matches('{').count() != code.matches('}').count() {
        return Err(broken("unbalanced braces"));
    }
    let mut entries = Vec::new();
    for part in code.split(".visible .entry").skip(1) {
        let (name, rest) = part.split_once('(').ok_or_else(|| broken("entry without parameters"))?;
        let (list, _) = rest.split_once(')').ok_or_else(|| broken("open parameter list"))?;
        let parameters = list.split(',').filter(|p| !p.trim().is_empty()).map(size).collect::<Option<_>>();
        entries.push(Entry {
            name: name.trim().to_owned(),
            parameters: parameters.ok_or_else(|| broken("parameter"))?,
        });
    }
    Ok(entries)
}

/// `.param .u64 name` is 8 bytes.
fn size(parameter: &str) -> Option<usize> {
    let kind = parameter.split_whitespace().nth(1)?;
    kind.trim_start_matches(['.', 'u', 's', 'b', 'f']).parse::<usize>().ok().map(|bits| bits / 8)
}
