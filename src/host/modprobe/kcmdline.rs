//! Module options on the kernel command line (libkmod-config.c, `kmod_config_parse_kcmdline`).

use super::{Config, ModuleOption, lines, params, underscores};
use crate::host::cmdline::Cmdline;

const FILE: &str = "proc/cmdline";

/// Prefixes of user space that look like a module name.
const NOT_MODULES: [&str; 6] = ["rd", "systemd", "udev", "fsck", "plymouth", "vconsole"];

/// Adds `module.parameter=value`, `modprobe.blacklist=` and `module_blacklist=`. The words stand on line 1.
pub(super) fn read(config: &mut Config, cmdline: &Cmdline) {
    for word in &cmdline.words {
        let (key, value) = params::unquote(word);
        if key == "modprobe.blacklist" || underscores(&key) == "module_blacklist" {
            for module in value.unwrap_or_default().split(',').filter(|m| !m.is_empty()) {
                config.blacklist.push(lines::entry(FILE, 1, &underscores(module), word));
            }
            continue;
        }
        let Some((module, name)) = key.split_once('.') else { continue };
        if module.is_empty() || name.is_empty() || NOT_MODULES.contains(&module) {
            continue;
        }
        config.options.push(ModuleOption {
            module: underscores(module),
            name: name.to_owned(),
            value: value.unwrap_or_default(),
            file: FILE.to_owned(),
            line: 1,
            in_force: true,
            shadowed_by: String::new(),
        });
    }
}
