//! Rules of a site, so that a story decides what is wrong on its machine and which remedies there are.

use std::fmt::Write;

/// A remedy: name, word, named risk that needs consent.
pub type Remedy<'a> = (&'a str, &'a str, Option<&'a str>);

/// Devices are translated.
pub const TRANSLATED: &str = "host.iommu.active == true && host.iommu.default_domain == 'Translated'";

/// One rule that fires when `fires` holds. `set` joins its remedies with those of other rules.
pub fn rule(id: &str, about: &str, fires: &str, set: Option<&str>, remedies: &[Remedy<'_>]) -> String {
    let mut text = format!(
        "[[rule]]\nid = \"{id}\"\ntitle = \"of this site\"\nseverity = \"high\"\nabout = \"{about}\"\n\
         rationale = \"It says so.\"\nrefuted_by = \"Nothing.\"\nby_hand = \"cat /proc/cmdline\"\n\
         sources = [\"this site\"]\napplies = \"true\"\nnot_applicable = \"Never.\"\npass = \"As it is to be.\"\n\
         [[rule.check]]\nstatus = \"fail\"\nif = \"{fires}\"\nsummary = \"It is not as it is to be.\"\n"
    );
    for (name, word, risk) in remedies {
        let _ = write!(
            text,
            "[[rule.remedy]]\nname = \"{name}\"\nkind = \"kernel-cmdline\"\nexplain = \"It helps.\"\nadd = [\"{word}\"]\n"
        );
        if let Some(set) = set {
            let _ = writeln!(text, "set = \"{set}\"");
        }
        if let Some(risk) = risk {
            let _ = write!(text, "[[rule.remedy.risk]]\nname = \"{risk}\"\nconsent = true\n");
        }
    }
    text
}

/// Translation is wrong here: passthrough first, then off, which needs consent.
pub fn translated() -> String {
    let remedies = [("site-pt", "iommu=pt", None), ("site-off", "intel_iommu=off", Some("dma-isolation"))];
    rule("site/translated", "correctness", TRANSLATED, None, &remedies)
}

/// A word is missing on the command line.
pub fn missing(word: &str) -> String {
    let name = format!("site-{}", word.split(['=', '.']).next().unwrap_or_default());
    let fires = format!("!host.kernel.cmdline.words.exists(w, w == '{word}')");
    rule(
        &format!("site/{}", name.trim_start_matches("site-")),
        "correctness",
        &fires,
        None,
        &[(&name, word, None)],
    )
}
