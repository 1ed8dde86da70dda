//! Turns facts into plain values for rules, with evidence and reasons beside them.

mod aside;
mod serializer;

use crate::root::{Evidence, Unknown};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// Plain values, and what stands behind each by JSON pointer (`/host/gpus/0/driver`).
#[derive(Clone, Debug, Default)]
pub struct Projected {
    /// Known facts as their value, absent ones as `null`, unknown ones left out.
    pub value: Value,
    /// Lines behind known and absent facts.
    pub evidence: BTreeMap<String, Vec<Evidence>>,
    /// Reasons of unknown facts.
    pub unknown: BTreeMap<String, Unknown>,
}

/// Projects anything that holds [`crate::root::Fact`]s, in one pass: a server has tens of thousands of facts,
/// and a tree of them in between would cost more than reading them.
pub fn project<T: Serialize>(facts: &T) -> Projected {
    let mut out = Projected::default();
    // Only a map whose keys are no text fails; facts hold none, and without a value every rule is open.
    out.value = serializer::value(facts, &mut out).ok().flatten().unwrap_or(Value::Null);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root::{Fact, Why};
    use serde_json::json;

    #[derive(Serialize)]
    enum Form {
        Bare,
        One(i64),
        Two(i64, Fact<i64>),
        Named { size: Fact<i64> },
    }

    fn three() -> Fact<i64> {
        Fact::known(3, Evidence::at("a", 7, "three"))
    }

    fn open() -> Fact<i64> {
        Fact::unknown("b", Why::Permission, "run as root")
    }

    #[test]
    fn facts_become_their_values_and_what_stands_behind_them_goes_aside() {
        let list = vec![three(), open(), Fact::absent("c")];
        let nested =
            Fact::known(vec![Fact::known("x", Evidence::new("d", "inner"))], Evidence::new("d", "outer"));
        let facts = project(&BTreeMap::from([("list", list)]));
        assert_eq!(facts.value, json!({"list": [3, null, null]}));
        assert_eq!(facts.evidence["/list/0"], [Evidence::at("a", 7, "three")]);
        assert_eq!(facts.evidence["/list/2"], [Evidence::new("c", "not there")]);
        assert_eq!(facts.unknown["/list/1"].to_string(), "b: permission denied (run as root)");
        let facts = project(&(nested, Some('y'), 1.5, ()));
        assert_eq!(facts.value, json!([["x"], "y", 1.5, null]));
        assert_eq!(facts.evidence["/0"][0].text, "outer");
        assert_eq!(facts.evidence["/0/0"][0].text, "inner");
    }

    #[test]
    fn enums_have_the_form_that_serde_gives_them() {
        let forms = (Form::Bare, Form::One(1), Form::Two(1, open()), Form::Named { size: open() });
        let facts = project(&forms);
        assert_eq!(facts.value, json!(["Bare", {"One": 1}, {"Two": [1, null]}, {"Named": {}}]));
        assert_eq!(facts.unknown.keys().collect::<Vec<_>>(), ["/2/1", "/3/size"]);
    }

    #[test]
    fn a_shape_that_is_no_json_leaves_everything_open() {
        assert_eq!(project(&BTreeMap::from([((1, 2), 3)])).value, Value::Null);
        assert_eq!(project(&BTreeMap::from([(1, 2)])).value, json!({"1": 2}));
    }
}
