//! Edits of modprobe.d: an option is changed where the winning assignment stands, or put into a file of our own
//! that sorts last.

use super::recognise::running_line;
use super::{Edit, FileEdit, Refusal, initramfs, owner};
use crate::format::modprobe_d::{self, ModprobeFile, OptionsLine};
use crate::format::splice::{self, Splice};
use crate::format::{Trouble, kernel_cmdline, registry_dwords};
use crate::host::modprobe::DIRECTORIES;
use crate::root::{Fact, Root, TEXT_LIMIT, Unknown};
use std::collections::BTreeMap;

/// Head of a file of our own.
const TEMPLATE: &str = include_str!("../../templates/modprobe.d-peerfix.conf");
/// The directory that belongs to the administrator.
const OWN: &str = DIRECTORIES[0];
/// The parameter whose values are merged key by key.
const REGISTRY: &str = "NVreg_RegistryDwords";

/// Plans setting `module.parameter` to values and removing others; every other byte of the files is kept.
///
/// `remove` holds `module.parameter` (whatever its value) or `module.parameter=value`. Values of
/// `NVreg_RegistryDwords` are merged key by key into the value in force, and losing lines of that parameter in
/// `/etc` are removed; to remove from it takes single keys out. `effective` stays empty: the command line does
/// not change.
pub fn modprobe_edit(root: &Root, wanted: &[(String, String)], remove: &[String]) -> Result<Edit, Refusal> {
    if let Some(refusal) = owner::refuse(root, wanted, remove) {
        return Err(refusal);
    }
    let mut plan = Plan { root, files: load(root).map_err(|u| refusal(&u.path, u.detail, wanted, remove))? };
    // A parameter that gets a new value needs no removal; only keys of the registry string go first.
    let replaced =
        |word: &&String| wanted.iter().any(|(name, _)| word.split('=').next() == Some(name.as_str()));
    let done =
        remove.iter().filter(|word| !replaced(word)).try_for_each(|word| plan.remove(word)).and_then(|()| {
            wanted.iter().try_for_each(|(name, value)| {
                let keys = remove.iter().filter_map(|w| w.strip_prefix(name.as_str())?.strip_prefix('='));
                plan.set(name, value, &keys.collect::<Vec<_>>().join(";"))
            })
        });
    done.map_err(|(place, reason)| refusal(&place, reason, wanted, remove))?;
    let files: Vec<FileEdit> = plan.files.into_iter().filter_map(File::edit).collect();
    Ok(Edit { files, commands: initramfs::rebuild(root).into_iter().collect(), effective: Vec::new() })
}

/// Place and reason.
type Stop = (String, String);

/// One file of modprobe.d that kmod reads.
struct File {
    /// As kmod names it.
    path: String,
    /// With links resolved.
    real: String,
    /// Bytes on disk; none for a file to be created.
    before: Option<Vec<u8>>,
    /// Bytes after the edits so far.
    bytes: Vec<u8>,
    parsed: ModprobeFile,
}

impl File {
    fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }

    /// Only the administrator's files are edited.
    fn editable(&self) -> bool {
        self.path.starts_with(OWN) && self.real.starts_with("etc/")
    }

    fn edit(self) -> Option<FileEdit> {
        let changed = self.before.as_ref() != Some(&self.bytes);
        changed.then_some(FileEdit { path: self.real, before: self.before, after: self.bytes })
    }

    fn apply(&mut self, splices: &[Splice]) -> Result<(), Stop> {
        let overlap = || (self.path.clone(), "the edits of this file overlap; edit it by hand".to_owned());
        self.bytes = splice::apply(&self.bytes, splices).ok_or_else(overlap)?;
        self.parsed = modprobe_d::parse(&self.bytes);
        Ok(())
    }

    fn trouble(&self, trouble: Trouble) -> Stop {
        (format!("{}:{}", self.path, trouble.line), trouble.reason)
    }
}

/// The unmasked files in the order that kmod reads them: by name over all directories, the first directory wins.
fn load(root: &Root) -> Result<Vec<File>, Unknown> {
    let mut files: Vec<File> = Vec::new();
    for dir in DIRECTORIES {
        let names = match root.list(dir) {
            Fact::Known { value, .. } => value,
            Fact::Absent { .. } => continue,
            Fact::Unknown(unknown) => return Err(unknown),
        };
        for name in names.into_iter().filter(|n| n.strip_suffix(".conf").is_some()) {
            if files.iter().any(|f| f.name() == name) {
                continue;
            }
            let path = format!("{dir}/{name}");
            // A link to /dev/null masks the same name further down.
            let masked = root.link(&path).value().is_some_and(|t| t == "/dev/null");
            let bytes = match root.bytes(&path, TEXT_LIMIT) {
                Fact::Known { value, .. } => value,
                _ if masked => Vec::new(),
                Fact::Absent { .. } => Vec::new(),
                Fact::Unknown(unknown) => return Err(unknown),
            };
            let real = if masked {
                "dev/null".to_owned()
            } else {
                root.canonical(&path).value().cloned().unwrap_or_default()
            };
            let parsed = modprobe_d::parse(&bytes);
            files.push(File { path, real, before: Some(bytes.clone()), bytes, parsed });
        }
    }
    files.sort_by(|a, b| a.name().cmp(b.name()));
    Ok(files)
}

/// Where an option stands: file, line, option.
type At = (usize, usize, usize);

struct Plan<'a> {
    root: &'a Root,
    files: Vec<File>,
}

impl Plan<'_> {
    /// All assignments of a parameter in the order that the kernel sees them.
    fn find(&self, module: &str, parameter: &str) -> Vec<At> {
        let mut found = Vec::new();
        for (f, file) in self.files.iter().enumerate() {
            for (l, line) in file.parsed.lines.iter().enumerate().filter(|(_, l)| l.module == module) {
                let hits = line.options.iter().enumerate().filter(|(_, o)| o.name == parameter);
                found.extend(hits.map(|(o, _)| (f, l, o)));
            }
        }
        found
    }

    fn line(&self, at: At) -> Option<(&File, &OptionsLine, &modprobe_d::ModuleOption)> {
        let file = self.files.get(at.0)?;
        let line = file.parsed.lines.get(at.1)?;
        Some((file, line, line.options.get(at.2)?))
    }

    /// Sets a parameter; `gone` are keys of the registry string that go.
    fn set(&mut self, name: &str, value: &str, gone: &str) -> Result<(), Stop> {
        let (module, parameter) = split_name(name)?;
        self.not_on_the_command_line(&module, &parameter, value)?;
        let found = self.find(&module, &parameter);
        let winner = found.last().copied();
        let current = winner.and_then(|at| self.line(at)).and_then(|(_, _, o)| o.value.clone());
        let merged = if parameter == REGISTRY {
            let now = current.as_deref().unwrap_or_default();
            let left = registry_dwords::without(now, gone);
            let same = left == registry_dwords::without(now, "") && registry_dwords::holds(now, value);
            if same { now.to_owned() } else { registry_dwords::merge(&left, value) }
        } else {
            value.to_owned()
        };
        if winner.is_some() && current.as_deref() == Some(merged.as_str()) {
            return Ok(());
        }
        match winner.filter(|at| self.files.get(at.0).is_some_and(File::editable)) {
            Some(at) => {
                let Some((file, line, option)) = self.line(at) else { return Ok(()) };
                let splice = modprobe_d::set(line, option, &merged).map_err(|t| file.trouble(t))?;
                if let Some(file) = self.files.get_mut(at.0) {
                    file.apply(&[splice])?;
                }
            }
            None => self.own_line(&module, &parameter, &merged, winner)?,
        }
        if parameter == REGISTRY { self.drop_losers(&module, &parameter) } else { Ok(()) }
    }

    /// Writes the option into a file of our own, one that sorts after the file of the `winner` so far.
    fn own_line(
        &mut self,
        module: &str,
        parameter: &str,
        value: &str,
        winner: Option<At>,
    ) -> Result<(), Stop> {
        let after =
            winner.and_then(|at| self.files.get(at.0)).map(|f| f.name().to_owned()).unwrap_or_default();
        let mut name = "zz-peerfix.conf".to_owned();
        while name <= after && name.len() < 64 {
            name.insert(0, 'z');
        }
        let path = format!("{OWN}/{name}");
        if name <= after {
            return Err((after, "no file of ours would be read after this one".to_owned()));
        }
        let option = modprobe_d::written(parameter, value, false).map_err(|r| (path.clone(), r))?;
        let line = format!("options {module} {option}\n");
        if let Some(file) = self.files.iter_mut().find(|f| f.path == path) {
            if !file.editable() {
                return Err((path, "expected an ordinary file of our own".to_owned()));
            }
            let start = if file.bytes.is_empty() || file.bytes.ends_with(b"\n") { "" } else { "\n" };
            let end = file.bytes.len();
            return file.apply(&[Splice::insert(end, format!("{start}{line}"))]);
        }
        let bytes = format!("{TEMPLATE}{line}").into_bytes();
        let parsed = modprobe_d::parse(&bytes);
        self.files.push(File { path: path.clone(), real: path, before: None, bytes, parsed });
        self.files.sort_by(|a, b| a.name().cmp(b.name()));
        Ok(())
    }

    /// Takes assignments out that a later one overrides, from the administrator's files alone.
    fn drop_losers(&mut self, module: &str, parameter: &str) -> Result<(), Stop> {
        let mut found = self.find(module, parameter);
        found.pop();
        self.take_out(&found)
    }

    /// Takes options out of the administrator's files.
    fn take_out(&mut self, gone: &[At]) -> Result<(), Stop> {
        let mut by_line: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
        for (file, line, option) in gone {
            by_line.entry((*file, *line)).or_default().push(*option);
        }
        for (index, file) in self.files.iter_mut().enumerate().filter(|(_, f)| f.editable()) {
            let mut splices = Vec::new();
            for ((_, number), options) in by_line.range((index, 0)..(index + 1, 0)) {
                let Some(line) = file.parsed.lines.get(*number) else { continue };
                let gone = modprobe_d::remove(&file.bytes, line, options);
                splices.extend(gone.map_err(|t| file.trouble(t))?);
            }
            if !splices.is_empty() {
                file.apply(&splices)?;
            }
        }
        Ok(())
    }

    fn remove(&mut self, word: &str) -> Result<(), Stop> {
        let (name, value) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (word, None),
        };
        let (module, parameter) = split_name(name)?;
        let found = self.find(&module, &parameter);
        if let (REGISTRY, Some(value)) = (parameter.as_str(), value) {
            return self.remove_keys(&found, value);
        }
        let fits = |at: &At| {
            self.line(*at).is_some_and(|(_, _, o)| value.is_none_or(|v| o.value.as_deref() == Some(v)))
        };
        let gone: Vec<At> = found.into_iter().filter(fits).collect();
        if let Some((file, line, _)) =
            gone.iter().filter_map(|at| self.line(*at)).find(|(f, _, _)| !f.editable())
        {
            let reason = format!(
                "{word} stands in a file of the distribution; copy it to /{OWN}/{} without the option",
                file.name()
            );
            return Err((format!("{}:{}", file.path, line.number), reason));
        }
        self.take_out(&gone)
    }

    /// Takes keys out of the registry string in force; the whole option when none is left.
    fn remove_keys(&mut self, found: &[At], keys: &str) -> Result<(), Stop> {
        let Some(at) = found.last().copied() else { return Ok(()) };
        let Some((file, line, option)) = self.line(at) else { return Ok(()) };
        let now = option.value.clone().unwrap_or_default();
        let left = registry_dwords::without(&now, keys);
        if left == registry_dwords::without(&now, "") {
            return Ok(());
        }
        if !file.editable() {
            let reason = format!("{REGISTRY} stands in a file of the distribution; override it in /{OWN}");
            return Err((format!("{}:{}", file.path, line.number), reason));
        }
        if left.is_empty() {
            return self.take_out(found);
        }
        let splice = modprobe_d::set(line, option, &left).map_err(|t| file.trouble(t))?;
        match self.files.get_mut(at.0) {
            Some(file) => file.apply(&[splice]),
            None => Ok(()),
        }
    }

    /// modprobe puts parameters of the running command line last: an edit of modprobe.d would do nothing.
    fn not_on_the_command_line(&self, module: &str, parameter: &str, value: &str) -> Result<(), Stop> {
        let Some(text) = running_line(self.root) else { return Ok(()) };
        for word in kernel_cmdline::kernel_words(&text) {
            let bare: String = word.chars().filter(|c| *c != '"').collect();
            let Some((key, now)) = bare.split_once('=') else { continue };
            let Some((m, p)) = key.split_once('.') else { continue };
            if m.replace('-', "_") == module && p == parameter && now != value {
                let reason = format!(
                    "`{word}` on the running command line wins over modprobe.d; take it out there and reboot first"
                );
                return Err(("proc/cmdline".to_owned(), reason));
            }
        }
        Ok(())
    }
}

/// `module.parameter`, the module with `_`.
fn split_name(name: &str) -> Result<(String, String), Stop> {
    match name.split_once('.') {
        Some((module, parameter)) if !module.is_empty() && !parameter.is_empty() => {
            let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
            if module.chars().all(plain) {
                return Ok((module.replace('-', "_"), parameter.to_owned()));
            }
        }
        _ => {}
    }
    Err((name.to_owned(), "expected `module.parameter`".to_owned()))
}

fn refusal(place: &str, reason: String, wanted: &[(String, String)], remove: &[String]) -> Refusal {
    let mut steps = Vec::new();
    for (name, value) in wanted {
        if let Some((module, parameter)) = name.split_once('.') {
            steps.push(format!("in /{OWN}, write: options {module} {parameter}={value}"));
        }
    }
    steps.extend(remove.iter().map(|word| format!("in /{OWN}, take out: {word}")));
    Refusal { place: place.to_owned(), reason, manual: steps }
}
