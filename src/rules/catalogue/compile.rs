//! One rule: every expression and template compiled and checked, every name known.

use super::read::Found;
use crate::rules::expr::{Expr, ExprError, Scope, Type};
use crate::rules::model::{Blocker, Check, Remedy, Risk, Rule, Severity, Status};
use crate::rules::source::{RuleError, Source, locate};
use crate::rules::template::Template;
use std::collections::HashMap;
use std::sync::Arc;
use toml::Spanned;
use toml::de::DeValue;

/// Risks that `--accept-risk` knows.
/// Risks that `--accept-risk` names; stable.
pub const RISKS: [&str; 7] = [
    "dma-isolation",
    "acs-isolation",
    "stray-dma",
    "kernel-patch",
    "unsafe-registry-key",
    "hardening-policy",
    "unattended-unlock",
];

/// A rule ready to be judged.
#[derive(Clone, Debug)]
pub struct CompiledRule {
    /// As the file holds it.
    pub rule: Rule,
    /// Its file.
    pub source: Source,
    /// Line of its table, from 1.
    pub line: usize,
    /// The hardware condition.
    pub applies: Expr,
    /// Summary when it does not apply.
    pub not_applicable: Template,
    /// Summary when nothing fires.
    pub pass: Template,
    /// Checks in order.
    pub checks: Vec<CompiledCheck>,
}

/// A check ready to be judged.
#[derive(Clone, Debug)]
pub struct CompiledCheck {
    /// Status of its finding.
    pub status: Status,
    /// Severity of its finding.
    pub severity: Severity,
    /// The list it runs over.
    pub each: Option<Each>,
    /// True fires.
    pub condition: Expr,
    /// Subject of an item.
    pub subject: Option<Expr>,
    /// The finding's sentence.
    pub summary: Template,
    /// A line of evidence per matching item.
    pub detail: Option<Template>,
    /// Facts to quote.
    pub evidence: Vec<Expr>,
    /// Its remedies, in ladder order.
    pub remedies: Vec<Arc<CompiledRemedy>>,
}

/// A list and the name of its items.
#[derive(Clone, Debug)]
pub struct Each {
    /// The list.
    pub list: Expr,
    /// Name of an item.
    pub name: String,
}

/// A remedy ready to be filled in.
#[derive(Clone, Debug)]
pub struct CompiledRemedy {
    /// As the file holds it.
    pub remedy: Remedy,
    /// What it does.
    pub explain: Template,
    /// Offered only when true.
    pub offer: Option<Expr>,
    /// Words to add.
    pub add: Vec<Template>,
    /// Words to remove.
    pub remove: Vec<Template>,
    /// Conditions of its risks, in their order.
    pub risks: Vec<Option<Expr>>,
    /// What is lost.
    pub loses: Vec<Template>,
    /// What blocks it, and the reason.
    pub blocked: Vec<(Expr, Template)>,
    /// What must be established first.
    pub conditional: Option<Template>,
    /// Steps for a person.
    pub steps: Vec<Template>,
    /// What must be true afterwards.
    pub expect: Vec<Template>,
}

/// Compiles a rule; all its errors, or the rule.
pub(super) fn rule(source: &Source, found: Found<'_>) -> Result<CompiledRule, Vec<RuleError>> {
    let Found { rule, node, line, .. } = found;
    let mut compiler = Compiler { source, node: &node, errors: Vec::new(), failed: Vec::new() };
    let facts = Scope::facts();
    compiler.names(&rule);
    let applies = compiler.expr("applies", &rule.applies, &facts, Expr::condition);
    let not_applicable = compiler.expr("not_applicable", &rule.not_applicable, &facts, Template::compile);
    let pass = compiler.expr("pass", &rule.pass, &facts, Template::compile);
    let mut remedies = HashMap::new();
    let mut checks = Vec::new();
    for (index, check) in rule.check.iter().enumerate() {
        checks.extend(compiler.check(&rule, index, check, &facts, &mut remedies));
    }
    match (applies, not_applicable, pass, compiler.errors.is_empty()) {
        (Some(applies), Some(not_applicable), Some(pass), true) => {
            Ok(CompiledRule { rule, source: source.clone(), line, applies, not_applicable, pass, checks })
        }
        _ => Err(compiler.errors),
    }
}

/// Remedies compiled so far, by index and type of the items they may name.
type Compiled = HashMap<(usize, Type), Option<Arc<CompiledRemedy>>>;

struct Compiler<'a, 't> {
    source: &'a Source,
    node: &'a Spanned<DeValue<'t>>,
    errors: Vec<RuleError>,
    /// Strings reported already: a remedy is compiled once per type of item.
    failed: Vec<String>,
}

impl Compiler<'_, '_> {
    fn wrong(&mut self, path: &str, message: impl Into<String>, help: &str) {
        self.errors.push(self.source.error(locate(self.node, path), message, help));
    }

    /// Compiles the string at `path`.
    fn expr<T>(
        &mut self,
        path: &str,
        text: &str,
        scope: &Scope,
        compile: impl Fn(&str, &Scope) -> Result<T, Vec<ExprError>>,
    ) -> Option<T> {
        match compile(text, scope) {
            Ok(done) => Some(done),
            Err(errors) => {
                if !self.failed.iter().any(|p| p == path) {
                    self.failed.push(path.to_owned());
                    let literal = locate(self.node, path);
                    let errors = errors.iter().map(|e| self.source.error_within(literal.clone(), e));
                    self.errors.extend(errors.collect::<Vec<_>>());
                }
                None
            }
        }
    }

    fn maybe<T>(
        &mut self,
        path: &str,
        text: Option<&String>,
        scope: &Scope,
        compile: impl Fn(&str, &Scope) -> Result<T, Vec<ExprError>>,
    ) -> Option<T> {
        text.and_then(|text| self.expr(path, text, scope, compile))
    }

    fn all<T>(
        &mut self,
        path: &str,
        texts: &[String],
        scope: &Scope,
        compile: impl Fn(&str, &Scope) -> Result<T, Vec<ExprError>>,
    ) -> Vec<T> {
        let texts = texts.iter().enumerate();
        texts.filter_map(|(i, text)| self.expr(&format!("{path}.{i}"), text, scope, &compile)).collect()
    }

    /// Everything that is a name or has a fixed form.
    fn names(&mut self, rule: &Rule) {
        let words: Vec<&str> = rule.id.split('/').collect();
        if words.len() != 2 || !words.iter().all(|w| is_kebab(w)) {
            self.wrong("id", format!("`{}` is no rule id", rule.id), "write `topic/name` in lower case");
        }
        if rule.check.is_empty() {
            self.wrong("check", "a rule without checks", "");
        }
        if rule.sources.is_empty() {
            self.wrong(
                "sources",
                "a rule without sources",
                "name the kernel file, header or document it rests on",
            );
        }
        for (index, remedy) in rule.remedy.iter().enumerate() {
            let path = format!("remedy.{index}");
            if !is_kebab(&remedy.name) {
                self.wrong(
                    &format!("{path}.name"),
                    format!("`{}` is no remedy name", remedy.name),
                    "write it like `iommu-pt`",
                );
            }
            if rule.remedy.iter().take(index).any(|r| r.name == remedy.name) {
                self.wrong(&format!("{path}.name"), format!("a second remedy `{}`", remedy.name), "");
            }
            let used = |c: &Check| c.remedies.as_ref().is_none_or(|names| names.contains(&remedy.name));
            if !rule.check.iter().any(used) {
                self.wrong(&format!("{path}.name"), format!("no check offers remedy `{}`", remedy.name), "");
            }
            if let Some(pulls) = &remedy.pulls
                && !pulls.split_once(':').is_some_and(|(option, way)| !option.is_empty() && !way.is_empty())
            {
                self.wrong(&format!("{path}.pulls"), "expected `option:direction`", "");
            }
            for (risk, Risk { name, .. }) in remedy.risk.iter().enumerate() {
                if !RISKS.contains(&name.as_str()) {
                    let path = format!("{path}.risk.{risk}.name");
                    self.wrong(
                        &path,
                        format!("unknown risk `{name}`"),
                        &format!("known: {}", RISKS.join(", ")),
                    );
                }
            }
        }
    }

    fn check(
        &mut self,
        rule: &Rule,
        index: usize,
        check: &Check,
        facts: &Scope,
        compiled: &mut Compiled,
    ) -> Option<CompiledCheck> {
        let path = |key: &str| format!("check.{index}.{key}");
        if check.status == Status::NotApplicable {
            self.wrong(
                &path("status"),
                "a check gives fail, warn, unknown, or pass where it explains why all is well",
                "not-applicable is the hardware condition's to say",
            );
        }
        let list = self.maybe(&path("each"), check.each.as_ref(), facts, Expr::list);
        match (&check.each, &check.name) {
            (Some(_), Some(name)) => {
                if facts.get(name).is_some()
                    || !is_name(name)
                    || ["subjects", "items"].contains(&name.as_str())
                {
                    self.wrong(&path("as"), format!("`{name}` cannot name an item"), "take a short new name");
                }
            }
            (Some(_), None) => self.wrong(&path("as"), "`each` without `as`", "give the item a name"),
            (None, Some(_)) => self.wrong(&path("as"), "`as` without `each`", ""),
            (None, None) => {}
        }
        // A list that does not compile leaves its items untyped, so that the rest is still checked.
        let item = list.as_ref().and_then(|l| l.ty().element()).cloned().unwrap_or(Type::Any);
        let name = check.name.as_deref();
        let inner = name.map_or(facts.clone(), |name| facts.with(name, item.clone()));
        let outer = facts.with("subjects", Type::list(Type::Text)).with("items", Type::list(item.clone()));
        let each = list.zip(name).map(|(list, name)| Each { list, name: name.to_owned() });

        let condition = self.expr(&path("if"), &check.condition, &inner, Expr::condition);
        let subject = self.subject(&path("subject"), check, name, &item, &inner);
        let summary = self.expr(&path("summary"), &check.summary, &outer, Template::compile);
        let detail = self.maybe(&path("detail"), check.detail.as_ref(), &inner, Template::compile);
        let evidence = self.all(&path("evidence"), &check.evidence, &inner, Expr::compile);
        let remedies = self.remedies(rule, &path("remedies"), check, &item, &outer, compiled);
        Some(CompiledCheck {
            status: check.status,
            severity: check.severity.unwrap_or(rule.severity),
            each,
            condition: condition?,
            subject,
            summary: summary?,
            detail,
            evidence,
            remedies,
        })
    }

    fn subject(
        &mut self,
        path: &str,
        check: &Check,
        name: Option<&str>,
        item: &Type,
        inner: &Scope,
    ) -> Option<Expr> {
        let compile = |text: &str, scope: &Scope| {
            let fits = |t: &Type| t.is_text() || t.element().is_some_and(Type::is_text);
            Expr::compile(text, scope)?.must(text, fits, "a string or a list of strings")
        };
        match (&check.subject, name) {
            (Some(text), _) => self.expr(path, text, inner, compile),
            (None, None) => None,
            (None, Some(name)) => {
                let text = if item.is_text() { name.to_owned() } else { format!("{name}.bdf") };
                let found = compile(&text, inner).ok();
                if found.is_none() {
                    self.wrong(
                        path,
                        format!("an item of type {item} has no `bdf`"),
                        "say what names it: `subject = ...`",
                    );
                }
                found
            }
        }
    }

    fn remedies(
        &mut self,
        rule: &Rule,
        path: &str,
        check: &Check,
        item: &Type,
        scope: &Scope,
        compiled: &mut Compiled,
    ) -> Vec<Arc<CompiledRemedy>> {
        for (at, name) in check.remedies.iter().flatten().enumerate() {
            if !rule.remedy.iter().any(|r| r.name == *name) {
                let known: Vec<&str> = rule.remedy.iter().map(|r| r.name.as_str()).collect();
                let help = format!("remedies of this rule: {}", known.join(", "));
                self.wrong(&format!("{path}.{at}"), format!("unknown remedy `{name}`"), &help);
            }
        }
        let mut remedies = Vec::new();
        for (index, remedy) in rule.remedy.iter().enumerate() {
            if check.remedies.as_ref().is_none_or(|names| names.contains(&remedy.name)) {
                let key = (index, item.clone());
                if !compiled.contains_key(&key) {
                    let done = self.remedy(index, remedy, scope).map(Arc::new);
                    compiled.insert(key.clone(), done);
                }
                remedies.extend(compiled.get(&key).cloned().flatten());
            }
        }
        remedies
    }

    fn remedy(&mut self, index: usize, remedy: &Remedy, scope: &Scope) -> Option<CompiledRemedy> {
        let path = |key: &str| format!("remedy.{index}.{key}");
        let errors = self.errors.len();
        let explain = self.expr(&path("explain"), &remedy.explain, scope, Template::compile);
        let offer = self.maybe(&path("offer"), remedy.offer.as_ref(), scope, Expr::condition);
        let add = self.all(&path("add"), &remedy.add, scope, Template::word);
        let remove = self.all(&path("remove"), &remedy.remove, scope, Template::word);
        let mut risks = Vec::new();
        for (at, risk) in remedy.risk.iter().enumerate() {
            let path = path(&format!("risk.{at}.if"));
            risks.push(self.maybe(&path, risk.condition.as_ref(), scope, Expr::condition));
        }
        let loses = self.all(&path("loses"), &remedy.loses, scope, Template::compile);
        let mut blocked = Vec::new();
        for (at, Blocker { condition, because }) in remedy.blocked.iter().enumerate() {
            let condition = self.expr(&path(&format!("blocked.{at}.if")), condition, scope, Expr::condition);
            let because =
                self.expr(&path(&format!("blocked.{at}.because")), because, scope, Template::compile);
            blocked.extend(condition.zip(because));
        }
        let conditional =
            self.maybe(&path("conditional"), remedy.conditional.as_ref(), scope, Template::compile);
        let steps = self.all(&path("steps"), &remedy.steps, scope, Template::compile);
        let expect = self.all(&path("expect"), &remedy.expect, scope, Template::compile);
        if self.errors.len() > errors {
            return None;
        }
        let remedy = remedy.clone();
        let explain = explain?;
        Some(CompiledRemedy {
            remedy,
            explain,
            offer,
            add,
            remove,
            risks,
            loses,
            blocked,
            conditional,
            steps,
            expect,
        })
    }
}

/// `iommu-pt`, `p2pdma`.
fn is_kebab(word: &str) -> bool {
    !word.is_empty()
        && word
            .split('-')
            .all(|p| !p.is_empty() && p.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit()))
}

/// A CEL identifier.
fn is_name(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
