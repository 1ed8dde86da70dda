//! Values of parameters of loaded modules, `sys/module/MODULE/parameters`.

use crate::root::{Fact, Root, Why};

/// A boolean parameter: the kernel prints `Y` or `N`; `1` and `0` are what captures by other tools hold.
///
/// Absent when the module is not loaded or has no such parameter. In a capture both need the directory above
/// to have been copied, else nothing is known.
pub fn live_bool(root: &Root, module: &str, parameter: &str) -> Fact<bool> {
    let path = format!("sys/module/{module}/parameters/{parameter}");
    let value = root.line(&path).parse(|text| match text.as_str() {
        "Y" | "y" | "1" => Ok(true),
        "N" | "n" | "0" => Ok(false),
        other => Err(format!("expected Y or N, found {other:?}")),
    });
    if !value.is_absent() || root.is_live() {
        return value;
    }
    let loaded = root.exists(&format!("sys/module/{module}"));
    let seen = if loaded {
        root.exists(&format!("sys/module/{module}/parameters"))
    } else {
        root.exists("sys/module")
    };
    if seen { value } else { Fact::unknown(path, Why::NotCaptured, "copy sys/module into the capture") }
}
