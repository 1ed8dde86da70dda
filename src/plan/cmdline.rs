//! Changes of the kernel command line.

use super::{Change, Site, apply_edit};
use crate::boot;
use crate::host::cmdline::Cmdline;

/// Narrows the words to what the running and configured lines need, makes the edit, and says what the next
/// boot's line will be. None when nothing is left to do.
pub(super) fn fill(site: Site<'_>, change: &mut Change) -> Option<()> {
    let running = site.host.kernel.cmdline.value();
    let configured = site.boot.configured.value();
    let on_running = |word: &String| running.is_some_and(|line| line.has(word));
    let on_configured = |word: &String| configured.is_some_and(|words| line_of(words).has(word));
    // Words that do nothing are no reason for an edit of their own.
    let settled = configured.is_some()
        && change.add.iter().all(&on_configured)
        && !change.remove.iter().any(&on_configured);
    let idle = no_ops(site, change);
    change.remove.extend(idle.into_iter().filter(|word| !settled || !on_configured(word)));
    change.remove.retain(|word| on_running(word) || on_configured(word));
    merge_redirects(site, change);
    change.add.retain(|word| !on_running(word));
    if change.add.is_empty() && change.remove.is_empty() {
        return None;
    }
    let already = configured.is_some()
        && change.add.iter().all(&on_configured)
        && !change.remove.iter().any(&on_configured);
    let edit = boot::edit(site.root, site.boot, &change.add, &change.remove);
    let edit = apply_edit(change, edit);
    // The same words in another form: nothing is left to write.
    let in_place = !change.add.is_empty() && edit.as_ref().is_some_and(|edit| edit.files.is_empty());
    if already || in_place {
        change.pending = true;
        change.edits.clear();
    }
    if let Some(edit) = edit {
        change.effective_cmdline = Some(next_line(running, configured, &edit.effective));
    }
    Some(())
}

/// Words of the same option that do nothing: they go together with a change to it, never alone.
fn no_ops(site: Site<'_>, change: &Change) -> Vec<String> {
    let touches_iommu = change.add.iter().chain(&change.remove).any(|word| family(word) == "iommu");
    let verdicts = site.host.words.value().into_iter().chain(site.boot.words.value()).flatten();
    let mut found: Vec<String> = Vec::new();
    for verdict in verdicts {
        let ours = touches_iommu && verdict.kind == "no-op" && family(&verdict.word) == "iommu";
        let known = change.add.contains(&verdict.word)
            || change.remove.contains(&verdict.word)
            || found.contains(&verdict.word);
        if ours && !known {
            found.push(verdict.word.clone());
        }
    }
    found
}

/// `iommu` for the three options that one decision is spread over, else the key.
fn family(word: &str) -> &str {
    let key = word.split('=').next().unwrap_or_default();
    match key {
        "iommu" | "intel_iommu" | "amd_iommu" | "iommu.passthrough" => "iommu",
        other => other,
    }
}

/// The kernel keeps one `disable_acs_redir` list, the last: ports already named are taken into ours, and the
/// old word goes.
fn merge_redirects(site: Site<'_>, change: &mut Change) {
    const OPTION: &str = "disable_acs_redir=";
    let Some(ours) = change.add.iter().position(|w| w.starts_with("pci=") && w.contains(OPTION)) else {
        return;
    };
    let lines = site.host.kernel.cmdline.value().map(|l| l.words.clone()).unwrap_or_default();
    let configured = site.boot.configured.value().cloned().unwrap_or_default();
    for word in lines.iter().chain(&configured) {
        let Some(old) = word.strip_prefix("pci=").and_then(|list| list.strip_prefix(OPTION)) else {
            continue;
        };
        let Some(mine) = change.add.get_mut(ours) else { return };
        if mine == word {
            continue;
        }
        for port in old.split(';').filter(|p| !p.is_empty()) {
            if !mine.contains(port) {
                mine.push(';');
                mine.push_str(port);
            }
        }
        if !change.remove.contains(word) {
            change.remove.push(word.clone());
        }
    }
}

/// What the loader puts before the configured words (`BOOT_IMAGE=`, `root=`, `ro`), then the configured ones.
pub(super) fn next_line(
    running: Option<&Cmdline>,
    configured: Option<&Vec<String>>,
    after: &[String],
) -> String {
    let Some(running) = running else { return after.join(" ") };
    let Some(configured) = configured else { return after.join(" ") };
    let own = |word: &&String| {
        let key = word.split('=').next().unwrap_or_default();
        matches!(key, "BOOT_IMAGE" | "root" | "ro" | "rw" | "initrd" | "rootflags" | "rootfstype")
    };
    let mut words: Vec<String> =
        running.words.iter().filter(own).filter(|w| !configured.contains(w)).cloned().collect();
    words.extend(after.iter().cloned());
    words.join(" ")
}

fn line_of(words: &[String]) -> Cmdline {
    Cmdline::parse(&words.join(" "))
}
