//! What a story asks of the guest, in a line each.

use super::vm::{Vm, run, text};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

impl Vm {
    /// Writes a file.
    #[track_caller]
    pub fn put(&mut self, path: &str, content: &str) {
        let file = self.folder.path().join("content");
        std::fs::write(&file, content).unwrap();
        self.bring(&[(&file, path.trim_start_matches('/'), "644")]);
    }

    /// Copies files out, with names relative to `/`, into a tree of that shape. Files of `/proc` and `/sys` too: they are
    /// read, not packed by their size. An absent one is left out.
    #[track_caller]
    pub fn fetch(&mut self, paths: &str) -> tempfile::TempDir {
        let packed = self
            .run(&format!(
                "rm -rf /run/fetch && mkdir /run/fetch && cd / && for f in {paths}; do [ -f $f ] && mkdir -p /run/fetch/$(dirname $f) && \
                 cat $f >/run/fetch/$f; done; cd /root; tar -C /run/fetch -cz . | base64"
            ))
            .exits(0);
        let tree = tempfile::tempdir().unwrap();
        let archive = tree.path().join("fetched");
        std::fs::write(&archive, &packed.text).unwrap();
        let unpack = format!("base64 -d <{0} | tar -C {1} -xz && rm {0}", text(&archive), text(tree.path()));
        run("sh", &["-c", &unpack]);
        tree
    }

    /// Builds a C program of `tests/vm/boot` without libraries and brings it into the guest.
    #[track_caller]
    pub fn compile(&mut self, name: &str) {
        let source: PathBuf =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vm/boot").join(format!("{name}.c"));
        let built = self.folder.path().join(name);
        let arguments = ["-static", "-O2", "-Wall", "-Werror", "-o", text(&built), text(&source)];
        let output = Command::new("cc").args(arguments).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        self.bring(&[(&built, &format!("usr/bin/{name}"), "755")]);
    }

    /// GRUB's environment block.
    #[track_caller]
    pub fn grubenv(&mut self) -> BTreeMap<String, String> {
        let listed = self.run("grub-editenv list").exits(0).text;
        listed.lines().filter_map(|l| l.split_once('=')).map(|(k, v)| (k.to_owned(), v.to_owned())).collect()
    }

    /// Adds an entry to `custom.cfg`: the running kernel, without an initrd, with the running words and these.
    #[track_caller]
    pub fn entry(&mut self, id: &str, words: &str) {
        let line = self.line();
        let line = line.split_once(' ').map_or("", |(_, words)| words);
        let entry = format!(
            "menuentry \"{id}\" --id {id} {{\n  search --no-floppy --label root --set=root\n  linux /boot/vmlinuz-$(uname -r) {line} {words}\n}}"
        );
        self.run(&format!("cat >>/boot/grub/custom.cfg <<__ENTRY__\n{entry}\n__ENTRY__")).exits(0);
    }

    /// Has GRUB start an entry at the next boot alone.
    #[track_caller]
    pub fn once(&mut self, entry: &str) {
        self.run(&format!("grub-reboot '{entry}' && sync")).exits(0);
    }

    /// Boots that the journal knows.
    #[track_caller]
    pub fn boots(&mut self) -> usize {
        self.run("journalctl --list-boots --no-pager -q").exits(0).text.lines().count()
    }

    /// Lines of a boot's kernel log (0: this one, -1: the one before) that match an extended regular expression.
    #[track_caller]
    pub fn kernel_log(&mut self, boot: i32, pattern: &str) -> Vec<String> {
        let found = self.run(&format!(
            "journalctl --sync; journalctl -k -b {boot} --no-pager -q -o cat | grep -E '{pattern}'"
        ));
        found.text.lines().map(str::to_owned).collect()
    }

    /// A JSON document that a command of the program prints, whatever it ends with.
    #[track_caller]
    pub fn json(&mut self, command: &str) -> serde_json::Value {
        let ran = self.run(&format!("{command} 2>/dev/null"));
        serde_json::from_str(&ran.text).unwrap_or_else(|error| panic!("{error}: {}", ran.text))
    }
}
