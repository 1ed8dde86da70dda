//! GRUB's environment block on the running host. It is written in place, as GRUB does: the same blocks on the medium,
//! whatever a journal still holds.

use super::Ledger;
use super::crash::crashpoint;
use super::dir::read_all;
use super::error::LedgerError;
use super::settle::settle;
use crate::format::grubenv::Grubenv;
use nix::fcntl::OFlag;
use std::io;
use std::os::unix::fs::FileExt;

impl Ledger {
    /// Sets a variable of the block at `path` (relative to the root), or takes it out, and brings the file system to
    /// the medium. A variable that is already as asked is not written.
    ///
    /// # Errors
    ///
    /// The file is not there, is no block, has no room, or cannot be written.
    pub fn set_environment(
        &mut self,
        path: &str,
        name: &str,
        value: Option<&str>,
    ) -> Result<(), LedgerError> {
        let place = self.store.target.locate(path)?;
        let failed = |action, source| LedgerError::Write {
            path: path.to_owned(),
            action,
            source,
            left: "the block is as it was".to_owned(),
        };
        let file = place.dir.open(&place.name, OFlag::O_RDWR, 0).map_err(|e| failed("open it", e))?;
        let bytes = read_all(&file).map_err(|e| failed("read it", e))?;
        let refused = |reason| LedgerError::Refused { path: path.to_owned(), reason };
        let block = Grubenv::parse(&bytes).map_err(refused)?;
        let new = match value {
            Some(value) => block.set(name, value).map_err(refused)?,
            None => block.unset(name),
        };
        if new.bytes() == block.bytes() {
            return Ok(());
        }
        if new.bytes().len() != bytes.len() {
            return Err(failed("write it", io::Error::other("its length would change")));
        }
        file.write_all_at(new.bytes(), 0)
            .and_then(|()| file.sync_all())
            .map_err(|e| failed("write it", e))?;
        crashpoint!("environment-written");
        settle(&self.store.target);
        Ok(())
    }
}
