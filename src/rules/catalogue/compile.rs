//! One rule: every expression and template compiled and checked, every name known.

use super::read::Found;
use super::remedy::{Compiled, CompiledRemedy};
use crate::rules::expr::{Expr, ExprError, Scope, Type};
use crate::rules::model::{Check, Rule, Severity, Status};
use crate::rules::source::{RuleError, Source, locate};
use crate::rules::template::Template;
use std::sync::Arc;
use toml::Spanned;
use toml::de::DeValue;

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

/// Compiles a rule; all its errors, or the rule.
pub(super) fn rule(source: &Source, found: Found<'_>) -> Result<CompiledRule, Vec<RuleError>> {
    let Found { rule, node, line, .. } = found;
    let mut compiler = Compiler { source, node: &node, errors: Vec::new(), failed: Vec::new() };
    let facts = Scope::facts();
    compiler.names(&rule);
    let applies = compiler.expr("applies", &rule.applies, &facts, Expr::condition);
    let not_applicable = compiler.expr("not_applicable", &rule.not_applicable, &facts, Template::compile);
    let pass = compiler.expr("pass", &rule.pass, &facts, Template::compile);
    let mut remedies = Compiled::new();
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

/// Collects the errors of one rule.
pub(super) struct Compiler<'a, 't> {
    source: &'a Source,
    node: &'a Spanned<DeValue<'t>>,
    pub(super) errors: Vec<RuleError>,
    /// Strings reported already: a remedy is compiled once per type of item.
    failed: Vec<String>,
}

impl Compiler<'_, '_> {
    pub(super) fn wrong(&mut self, path: &str, message: impl Into<String>, help: &str) {
        self.errors.push(self.source.error(locate(self.node, path), message, help));
    }

    /// Compiles the string at `path`.
    pub(super) fn expr<T>(
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

    /// Compiles the string at `path` where there is one.
    pub(super) fn maybe<T>(
        &mut self,
        path: &str,
        text: Option<&String>,
        scope: &Scope,
        compile: impl Fn(&str, &Scope) -> Result<T, Vec<ExprError>>,
    ) -> Option<T> {
        text.and_then(|text| self.expr(path, text, scope, compile))
    }

    /// Compiles the strings of the list at `path`.
    pub(super) fn all<T>(
        &mut self,
        path: &str,
        texts: &[String],
        scope: &Scope,
        compile: impl Fn(&str, &Scope) -> Result<T, Vec<ExprError>>,
    ) -> Vec<T> {
        let texts = texts.iter().enumerate();
        texts.filter_map(|(i, text)| self.expr(&format!("{path}.{i}"), text, scope, &compile)).collect()
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
}

/// A CEL identifier.
fn is_name(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
