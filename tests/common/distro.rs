//! What a distribution puts into `etc`, `boot` and `usr`: boot loader configuration and its tools.

use super::Tree;

/// Root file system of every host here.
pub const ROOT: &str = "root=UUID=3f1c7a52-8f0e-4c55-9a57-3b7a52c1e0d4";

/// The command line that GRUB on a Debian-like system gives with `words` as default words.
pub fn grub_cmdline(release: &str, words: &str) -> String {
    format!("BOOT_IMAGE=/boot/vmlinuz-{release} {ROOT} ro {words}").trim_end().to_owned()
}

/// `etc/default/grub` with `words` as default words.
pub fn grub_defaults(words: &str) -> String {
    format!(
        "# Settings of the boot loader. Run 'update-grub' after a change.\n\
         GRUB_DEFAULT=0\n\
         GRUB_TIMEOUT_STYLE=hidden\n\
         GRUB_TIMEOUT=3\n\
         GRUB_DISTRIBUTOR=`( . /etc/os-release; echo ${{NAME:-Ubuntu}} ) 2>/dev/null || echo Ubuntu`\n\
         GRUB_CMDLINE_LINUX_DEFAULT=\"{words}\"\n\
         GRUB_CMDLINE_LINUX=\"\"\n\
         \n\
         # Uncomment for a plain console\n\
         #GRUB_TERMINAL=console\n"
    )
}

impl Tree {
    /// Ubuntu with GRUB: defaults, generated configuration and the tools that regenerate.
    pub fn ubuntu(self, release: &str, words: &str) -> Self {
        let os = "PRETTY_NAME=\"Ubuntu 26.04 LTS\"\nNAME=\"Ubuntu\"\nVERSION_ID=\"26.04\"\n\
                  ID=ubuntu\nID_LIKE=debian\n";
        let line = grub_cmdline(release, words).replacen("BOOT_IMAGE=", "", 1);
        let recovery = format!("/boot/vmlinuz-{release} {ROOT} ro recovery nomodeset");
        let menu = format!(
            "set default=\"0\"\nif [ \"${{next_entry}}\" ] ; then\n   set default=\"${{next_entry}}\"\n   \
             set next_entry=\n   save_env next_entry\nfi\n\
             menuentry 'Ubuntu' --class ubuntu --id 'gnulinux-simple-3f1c7a52' {{\n\tlinux\t{line}\n\
             \tinitrd\t/boot/initrd.img-{release}\n}}\n\
             menuentry 'Ubuntu (recovery mode)' --id 'gnulinux-recovery-3f1c7a52' {{\n\tlinux\t{recovery}\n\
             \tinitrd\t/boot/initrd.img-{release}\n}}\n"
        );
        self.file("etc/os-release", os)
            .file("etc/debian_version", "forky/sid\n")
            .file("etc/default/grub", grub_defaults(words))
            .file("boot/grub/grub.cfg", menu)
            .program("usr/sbin/update-grub", "exec grub-mkconfig -o /boot/grub/grub.cfg \"$@\"")
            .program("usr/sbin/update-initramfs", "echo update-initramfs \"$@\"")
            .file("etc/initramfs-tools/initramfs.conf", "MODULES=most\nCOMPRESS=zstd\n")
            .dir("etc/modprobe.d")
    }

    /// Pop!_OS: kernelstub and systemd-boot. `words` are the user's options beyond the stock ones.
    pub fn pop_os(self, release: &str, words: &[&str]) -> Self {
        let stock = ["quiet", "loglevel=0", "systemd.show_status=false", "splash"];
        let options: Vec<&str> = stock.iter().chain(words).copied().collect();
        let list =
            |tokens: &[&str]| tokens.iter().map(|t| format!("      \"{t}\"")).collect::<Vec<_>>().join(",\n");
        let section = |name: &str, tokens: &[&str], end: &str| {
            format!(
                "  \"{name}\": {{\n    \"kernel_options\": [\n{}\n    ],\n    \"esp_path\": \"/boot/efi\",\n    \
                 \"setup_loader\": false,\n    \"manage_mode\": false,\n    \"force_update\": false,\n    \
                 \"live_mode\": false,\n    \"config_rev\": 3\n  }}{end}\n",
                list(tokens)
            )
        };
        let configuration = format!(
            "{{\n{}{}}}\n",
            section("default", &["quiet", "splash"], ","),
            section("user", &options, "")
        );
        let entry = format!(
            "title Pop!_OS\nlinux /EFI/Pop_OS-3f1c7a52/vmlinuz.efi\n\
             initrd /EFI/Pop_OS-3f1c7a52/initrd.img\noptions {ROOT} ro {}\n",
            options.join(" ")
        );
        let os = "NAME=\"Pop!_OS\"\nVERSION=\"24.04 LTS\"\nID=pop\nID_LIKE=\"ubuntu debian\"\n\
                  VERSION_ID=\"24.04\"\n";
        let cmdline = format!("initrd=\\EFI\\Pop_OS-3f1c7a52\\initrd.img {ROOT} ro {}", options.join(" "));
        self.kernel(release, &cmdline)
            .file("etc/os-release", os)
            .file("etc/kernelstub/configuration", configuration)
            .file("boot/efi/loader/loader.conf", "default Pop_OS-current\ntimeout 0\n")
            .file("boot/efi/loader/entries/Pop_OS-current.conf", entry)
            .program("usr/bin/kernelstub", "echo kernelstub \"$@\"")
            .program("usr/sbin/update-initramfs", "echo update-initramfs \"$@\"")
            .file("etc/initramfs-tools/initramfs.conf", "MODULES=most\nCOMPRESS=zstd\n")
            .dir("etc/modprobe.d")
    }

    /// A shell script that may be run.
    pub fn program(self, path: &str, body: &str) -> Self {
        self.file(path, format!("#!/bin/sh\nset -e\n{body}\n")).mode(path, 0o755)
    }
}
