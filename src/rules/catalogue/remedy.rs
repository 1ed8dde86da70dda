//! Remedies, compiled once per type of the items they may name.

use super::compile::Compiler;
use crate::rules::expr::{Expr, Scope, Type};
use crate::rules::model::{Blocker, Check, Remedy, Rule};
use crate::rules::template::Template;
use std::collections::HashMap;
use std::sync::Arc;

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

/// Remedies compiled so far, by index and type of item; none where one has errors.
pub(super) type Compiled = HashMap<(usize, Type), Option<Arc<CompiledRemedy>>>;

impl Compiler<'_, '_> {
    /// The remedies of a check, in ladder order.
    pub(super) fn remedies(
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
