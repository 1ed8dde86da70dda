//! Making the folder of a new entry: complete and durable under a hidden name first, so that an entry is
//! either whole or not there.

use super::crash::crashpoint;
use super::dir::Dir;
use super::document::{Document, FileRecord, SCHEMA, VERSION, now};
use super::error::{LedgerError, state};
use super::journal::{Step, append};
use super::metadata::Metadata;
use super::request::Request;
use super::revert_script;
use super::store::{Store, Stored};
use std::io::{self, Write};

/// Prefix of the folder of an entry that is still being made.
pub(super) const UNFINISHED: &str = ".new-";

/// Both versions of a file.
pub(super) struct Versions<'a> {
    pub(super) record: FileRecord,
    pub(super) before: Option<&'a [u8]>,
    pub(super) after: &'a [u8],
}

/// Makes the next entry, up to the journal line `prepared`. Nothing outside the ledger is touched.
pub(super) fn prepare(
    store: &Store,
    request: &Request,
    files: &[Versions<'_>],
    made: Vec<String>,
    commands: Vec<Vec<String>>,
) -> Result<Stored, LedgerError> {
    let Some(entries) = &store.entries else {
        let missing = io::Error::from(io::ErrorKind::NotFound);
        return Err(state(store.path(""), "open the ledger")(missing));
    };
    let last = store.ids()?.last().and_then(|id| id.parse::<u64>().ok()).unwrap_or(0);
    let id = format!("{:04}", last + 1);
    let document = Document {
        schema: SCHEMA.to_owned(),
        version: VERSION,
        id: id.clone(),
        title: request.title.clone(),
        at: now(),
        program: env!("CARGO_PKG_VERSION").to_owned(),
        run: request.run,
        changes: request.changes.clone(),
        files: files.iter().map(|file| file.record.clone()).collect(),
        made,
        commands,
        revert_commands: request.revert_commands.clone(),
    };
    let hidden = format!("{UNFINISHED}{id}");
    fill(entries, &hidden, &document, files).inspect_err(|_| {
        let _ = entries.remove_tree(&hidden);
    })?;
    let failed = |action| state(entries.join(&id), action);
    entries.rename(&hidden, &id).map_err(failed("name the entry"))?;
    crashpoint!("entry-named");
    entries.sync().map_err(failed("sync the ledger"))?;
    Stored::read(entries.dir(&id).map_err(failed("open the entry"))?, &id)
}

fn fill(entries: &Dir, hidden: &str, document: &Document, files: &[Versions<'_>]) -> Result<(), LedgerError> {
    let at = entries.join(hidden);
    let failed = |action| state(&at, action);
    entries.make(hidden, 0o700).map_err(failed("make the entry"))?;
    let entry = entries.dir(hidden).map_err(failed("open the entry"))?;
    append(&entry, Step::Begun { process: std::process::id() }).map_err(failed("write the journal"))?;
    crashpoint!("entry-begun");
    for version in ["before", "after"] {
        entry.make(version, 0o700).map_err(failed("make a folder for copies"))?;
    }
    let (before, after) = (entry.dir("before"), entry.dir("after"));
    let before = before.map_err(failed("open the folder for copies"))?;
    let after = after.map_err(failed("open the folder for copies"))?;
    for (index, file) in files.iter().enumerate() {
        if let (Some(bytes), Some(meta)) = (file.before, &file.record.before) {
            copy(&before, index, bytes, meta).map_err(failed("keep a copy"))?;
        }
        copy(&after, index, file.after, &file.record.after).map_err(failed("keep a copy"))?;
        crashpoint!("backup-copied");
    }
    before.sync().and_then(|()| after.sync()).map_err(failed("sync the copies"))?;
    let json = serde_json::to_vec_pretty(document).map_err(io::Error::from);
    json.and_then(|json| put(&entry, "change.json", &json)).map_err(failed("write change.json"))?;
    crashpoint!("change-written");
    put(&entry, "revert.sh", revert_script::script(document).as_bytes())
        .map_err(failed("write revert.sh"))?;
    crashpoint!("script-written");
    append(&entry, Step::Prepared).map_err(failed("write the journal"))?;
    entry.sync().map_err(failed("sync the entry"))?;
    crashpoint!("entry-prepared");
    Ok(())
}

/// Writes a new file and makes it durable.
fn put(entry: &Dir, name: &str, bytes: &[u8]) -> io::Result<()> {
    let mut file = entry.create(name, 0o600)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Keeps a copy that looks like the file itself as far as the ledger's file system allows; what counts is in
/// `change.json`. `revert.sh` copies it back with its metadata.
pub(super) fn copy(folder: &Dir, index: usize, bytes: &[u8], meta: &Metadata) -> io::Result<()> {
    let name = index.to_string();
    folder.remove(&name)?;
    let mut file = folder.create(&name, 0o600)?;
    file.write_all(bytes)?;
    let _ = meta.give(&file);
    file.sync_all()
}

/// Keeps the merged bytes of a revert, by index, before the journal names them.
pub(super) fn keep_merged(entry: &Dir, merged: &[(usize, Vec<u8>)]) -> io::Result<()> {
    if merged.is_empty() {
        return Ok(());
    }
    if entry.stat("revert")?.is_none() {
        entry.make("revert", 0o700)?;
        entry.sync()?;
    }
    let folder = entry.dir("revert")?;
    for (index, bytes) in merged {
        folder.remove(index.to_string())?;
        put(&folder, &index.to_string(), bytes)?;
    }
    folder.sync()
}
