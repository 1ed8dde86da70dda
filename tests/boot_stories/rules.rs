//! Rules of a site, so that a story decides what is wrong on its machine and which remedies there are.

use std::fmt::Write;

/// A remedy: name, word, named risk that needs consent.
pub type Remedy<'a> = (&'a str, &'a str, Option<&'a str>);

/// When a rule fires, and facts of a host where it does and of one where it does not.
pub struct When {
    fires: String,
    facts: [String; 2],
}

/// Devices are translated.
pub fn when_translated() -> When {
    let host = |active: bool| {
        format!("host = {{ iommu = {{ active = {active}, default_domain = \"Translated\" }} }}")
    };
    When {
        fires: "host.iommu.active == true && host.iommu.default_domain == 'Translated'".to_owned(),
        facts: [host(true), host(false)],
    }
}

/// A word is not on the command line.
pub fn when_missing(word: &str) -> When {
    let host = |word: &str| format!("host = {{ kernel = {{ cmdline = {{ words = [\"{word}\"] }} }} }}");
    When {
        fires: format!("!host.kernel.cmdline.words.exists(w, w == '{word}')"),
        facts: [host("quiet"), host(word)],
    }
}

/// One rule. `set` joins its remedies with those of other rules.
pub fn rule(id: &str, about: &str, when: &When, set: Option<&str>, remedies: &[Remedy<'_>]) -> String {
    let When { fires, facts } = when;
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
    for (expect, facts) in ["fail", "pass"].iter().zip(facts) {
        let _ = write!(
            text,
            "[[rule.example]]\nname = \"{expect}\"\nexpect = \"{expect}\"\n[rule.example.facts]\n{facts}\n"
        );
    }
    text
}

/// Translation is wrong here: passthrough first, then off, which needs consent.
pub fn translated() -> String {
    let remedies = [("site-pt", "iommu=pt", None), ("site-off", "intel_iommu=off", Some("dma-isolation"))];
    rule("site/translated", "correctness", &when_translated(), None, &remedies)
}

/// A word is missing on the command line.
pub fn missing(word: &str) -> String {
    let name = format!("site-{}", word.split(['=', '.']).next().unwrap_or_default().replace('_', "-"));
    rule(
        &format!("site/{}", name.trim_start_matches("site-")),
        "correctness",
        &when_missing(word),
        None,
        &[(&name, word, None)],
    )
}
