use super::*;
use crate::host::project;
use crate::root::{Evidence, Fact, Why};
use schemars::JsonSchema;
use serde::Serialize;

#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum State {
    /// Up.
    Up,
    /// Down.
    GoneDown,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Port {
    bdf: String,
    width: Fact<i64>,
    driver: Fact<String>,
    state: State,
    lanes: Vec<i64>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Small {
    ports: Vec<Port>,
    words: Fact<Vec<String>>,
    release: Fact<String>,
    count: Fact<i64>,
    ratio: f64,
    on: bool,
}

fn port(bdf: &str, width: Fact<i64>) -> Port {
    let state = if bdf == "c" { State::GoneDown } else { State::Up };
    let driver = Fact::known("nvme".to_owned(), Evidence::new(format!("{bdf}/driver"), "-> nvme"));
    Port { bdf: bdf.into(), width, driver, state, lanes: vec![1, 2] }
}

fn width(value: i64, at: &str) -> Fact<i64> {
    Fact::known(value, Evidence::at(format!("{at}/current_link_width"), 1, value.to_string()))
}

fn small() -> Small {
    Small {
        ports: vec![
            port("a", width(16, "a")),
            port("b", Fact::unknown("b/current_link_width", Why::Permission, "")),
            port("c", width(4, "c")),
        ],
        words: Fact::known(
            vec!["quiet".into(), "iommu=pt".into()],
            Evidence::at("proc/cmdline", 1, "quiet iommu=pt"),
        ),
        release: Fact::absent("proc/version"),
        count: Fact::unknown("sys/count", Why::NotCaptured, ""),
        ratio: 0.5,
        on: true,
    }
}

fn scope() -> Scope {
    Scope::of::<Small>()
}

/// The result as text: `true`, `open: path (why)`; then the facts read.
fn eval(text: &str) -> (String, Vec<String>) {
    let facts = project(&small());
    let expr = Expr::compile(text, &scope()).unwrap_or_else(|e| panic!("{text}: {e:?}"));
    let env = Env::new(&facts);
    let outcome = expr.eval(&env);
    let shown = match outcome.verdict {
        Verdict::Value(value) => value.words(),
        Verdict::Undetermined(causes) => {
            let causes = causes.iter().map(|c| {
                let place = c.place.as_ref().map(Place::path).unwrap_or_default();
                match &c.why {
                    WhyOpen::Unknown => format!("{place} unknown"),
                    WhyOpen::Absent => format!("{place} absent"),
                    WhyOpen::Problem(text) => text.clone(),
                }
            });
            format!("open: {}", causes.collect::<Vec<_>>().join(", "))
        }
    };
    (shown, outcome.reads.iter().map(Place::path).collect())
}

fn value(text: &str) -> String {
    eval(text).0
}

fn errors(text: &str) -> Vec<(String, String, String)> {
    match Expr::compile(text, &scope()) {
        Ok(expr) => panic!("{text} compiles as {}", expr.ty()),
        Err(errors) => errors.into_iter().map(|e| (text[e.span].to_owned(), e.message, e.help)).collect(),
    }
}

fn error(text: &str) -> (String, String) {
    let (span, message, _) = errors(text).remove(0);
    (span, message)
}

#[test]
fn unknown_facts_are_absorbed_where_another_operand_decides() {
    assert_eq!(value("count > 3"), "open: count unknown");
    assert_eq!(value("count > 3 || on"), "true");
    assert_eq!(value("on || count > 3"), "true");
    assert_eq!(value("count > 3 && !on"), "false");
    assert_eq!(value("!on && count > 3"), "false");
    assert_eq!(value("count > 3 && on"), "open: count unknown");
    assert_eq!(value("count > 3 || !on"), "open: count unknown");
    assert_eq!(value("count > 3 && count < 9"), "open: count unknown, count unknown");
    assert_eq!(value("on ? 'yes' : string(count)"), "yes");
    assert_eq!(value("count == null"), "open: count unknown");
}

#[test]
fn one_unknown_element_does_not_hide_a_deciding_one() {
    assert_eq!(value("ports.exists(p, p.width == 4)"), "true");
    assert_eq!(value("ports.exists(p, p.width == 2)"), "open: ports[1].width unknown");
    assert_eq!(value("ports.all(p, p.width >= 8)"), "false");
    assert_eq!(value("ports.all(p, p.width >= 1)"), "open: ports[1].width unknown");
    assert_eq!(value("ports.exists_one(p, p.width == 4)"), "open: ports[1].width unknown");
    assert_eq!(value("size(ports.filter(p, p.width == 4))"), "open: ports[1].width unknown");
    assert_eq!(value("ports.exists(p, ports.exists(q, q.bdf != p.bdf && q.width == 4))"), "true");
}

#[test]
fn absent_facts_compare_with_null_and_are_named_otherwise() {
    assert_eq!(value("release == null"), "true");
    assert_eq!(value("release != null && release.startsWith('6')"), "false");
    assert_eq!(value("release == '6.1'"), "false");
    assert_eq!(value("release.startsWith('6')"), "open: release absent");
    assert_eq!(value("release + '6' == 'x'"), "open: release absent");
    assert_eq!(value("release > 'a'"), "open: release absent");
    assert_eq!(value("has(ports[0].bdf)"), "true");
    assert_eq!(value("first(ports.filter(p, p.bdf == 'z')).bdf == 'z'"), "open:  absent");
}

#[test]
fn the_facts_read_are_those_that_decided() {
    let reads = |text| eval(text).1.join(" ");
    assert_eq!(reads("ports.exists(p, p.width == 4)"), "ports ports[2].width");
    assert_eq!(reads("ports[0].width == 4 || ports[2].width == 4"), "ports ports[2].width");
    assert_eq!(reads("ports[0].width == 4 && ports[2].width == 4"), "ports ports[0].width");
    assert_eq!(reads("!words.exists(w, w == 'x')"), "words words[0] words[1]");
    assert_eq!(reads("ports.filter(p, p.bdf == 'c').map(p, p.bdf)"), "ports ports[2].bdf ports[2].bdf");
}

#[test]
fn a_list_to_iterate_keeps_open_elements_apart() {
    let facts = project(&small());
    let expr = Expr::list("ports.filter(p, p.width > 1)", &scope()).unwrap();
    let env = Env::new(&facts);
    let items = expr.items(&env).unwrap().items;
    let shown: Vec<(String, bool)> =
        items.iter().map(|i| (i.value.place().unwrap().pointer(), i.open.is_empty())).collect();
    assert_eq!(shown, [("/ports/0".into(), true), ("/ports/1".into(), false), ("/ports/2".into(), true)]);
    assert_eq!(items[0].reads.iter().map(Place::pointer).collect::<Vec<_>>(), ["/ports/0/width"]);
}

#[test]
fn reasons_and_evidence_are_found_by_pointer() {
    let facts = project(&small());
    let env = Env::new(&facts);
    assert_eq!(env.reason("/ports/1/width").unwrap().path, "b/current_link_width");
    assert_eq!(env.evidence("/words/1")[0].source, "proc/cmdline");
    assert_eq!(env.evidence_within("/ports/0").len(), 2);
    assert!(env.evidence("/ports").is_empty());
}

#[test]
fn sentences_have_their_functions() {
    for (text, shown) in [
        ("hex(113)", "0x71"),
        ("hex(-1)", "-0x1"),
        ("gib(103079215104)", "96 GiB"),
        ("gib(268435456)", "256 MiB"),
        ("gib(34190917632)", "31.8 GiB"),
        ("gib(0)", "0 bytes"),
        ("gib(1099511627776)", "1 TiB"),
        ("gib(9223372036854775807)", "8589934591.9 GiB"),
        ("bits(0)", "0"),
        ("bits(0x3fffffffff)", "38"),
        ("plural(size(ports), 'port', 'ports')", "ports"),
        ("plural(1, 'port', 'ports')", "port"),
        ("join(ports.map(p, p.bdf), ' and ')", "a and b and c"),
        ("first(ports).bdf + last(ports).bdf", "ac"),
        ("distinct([3, 1, 3, 2, 1])", "3, 1, 2"),
        ("sum(ports.map(p, sum(p.lanes)))", "9"),
        ("sum([])", "0"),
        ("'iommu=pt' in words && words[1] == 'iommu=pt'", "true"),
        ("words.map(w, w.contains('='), w)", "iommu=pt"),
        ("words[0].matches('^qu.et$')", "true"),
        ("size('πέντε')", "5"),
        ("int('12') + 1", "13"),
        ("ratio < 1", "true"),
    ] {
        assert_eq!(value(text), shown, "{text}");
    }
}

#[test]
fn operations_without_a_result_leave_the_expression_open() {
    for text in [
        "1 / 0 == 1",
        "1 % 0 == 1",
        "9223372036854775807 + 1 > 0",
        "-9223372036854775808 / -1 > 0",
        "-(-9223372036854775808) > 0",
        "words[7] == 'x'",
        "words[-1] == 'x'",
        "int('x') == 1",
        "bits(-1) == 1",
        "sum([9223372036854775807, 1]) > 0",
    ] {
        assert!(value(text).starts_with("open: "), "{text}: {}", value(text));
    }
}

#[test]
fn static_errors_name_the_place_and_what_is_known() {
    assert_eq!(error("relase == null"), ("relase".into(), "unknown name `relase`".into()));
    assert_eq!(error("on &&\n  ports[0].witdh == 1"), ("witdh".into(), "no field `witdh` in Port".into()));
    assert!(errors("ports[0].witdh == 1")[0].2.starts_with("did you mean `width`? fields here: bdf, "));
    assert_eq!(error("ports.exists(p, p.wdth == 1)"), ("wdth".into(), "no field `wdth` in Port".into()));
    assert_eq!(
        error("ports.exists(p, ports.all(q, q.bdf == p.bfd))"),
        ("bfd".into(), "no field `bfd` in Port".into())
    );
    assert_eq!(error("on && count > 'many'"), ("count > 'many'".into(), "compares int with string".into()));
    assert_eq!(error("count == 'many'"), ("count == 'many'".into(), "compares int with string".into()));
    assert_eq!(error("on > 1"), ("on".into(), "expected a number or string, found bool".into()));
    assert_eq!(error("count && on"), ("count".into(), "expected true or false, found int".into()));
    assert_eq!(error("ports.bdf == 'a'"), ("bdf".into(), "`.bdf` on a list of object (Port)".into()));
    assert_eq!(error("release.kind == 'a'"), ("kind".into(), "`.kind` on a value of type string".into()));
    assert_eq!(error("1 in words"), ("1 in words".into(), "looks for int in a list of string".into()));
    assert_eq!(error("'a' in release"), ("release".into(), "`in` needs a list, found string".into()));
    assert_eq!(
        error("ports[0].state == 'upp'"),
        ("'upp'".into(), "`upp` is none of the values of this fact".into())
    );
    assert_eq!(value("ports[0].state in ['up', 'gone-down']"), "true");
    assert_eq!(error("ports[0] == ports[1]").1, "compares whole objects (object (Port))");
    assert_eq!(error("ports[0].bdf.nosuch('a')"), ("nosuch".into(), "unknown function `nosuch`".into()));
    assert_eq!(error("gibb(1)"), ("gibb".into(), "unknown function `gibb`".into()));
    assert_eq!(error("gib('x')"), ("gib".into(), "`gib` cannot take (string)".into()));
    assert_eq!(error("contains('a', 'b')").1, "`contains` is written otherwise");
    assert_eq!(error("release.matches('(')").0, "matches");
    assert_eq!(error("release.matches(release)").1, "the pattern of `matches` must be a literal");
    assert_eq!(error("1 + 'a' == 2").1, "arithmetic on int and string");
    assert_eq!(
        error("[1, 'a'].size() == 2"),
        ("'a'".into(), "a list of int with an element of type string".into())
    );
    assert_eq!(error("(on ? 1 : 'a') == 1").1, "one branch is int, the other string");
    assert_eq!(error("count > 3u"), ("3u".into(), "unsigned integer".into()));
    assert_eq!(error("{'a': 1}.a == 1").1, "a map literal");
    assert_eq!(error("ports.exists(on, true)").1, "`on` hides another name");
    assert_eq!(errors("relase == null && ports[0].witdh == 1").len(), 2);
    assert_eq!(error("'ü' == relase"), ("relase".into(), "unknown name `relase`".into()));
    assert_eq!(error("on &&").1, "mismatched input '<EOF>' expecting expression");
    assert_eq!(error("count == = 1").0, "=");
    assert_eq!(
        Expr::condition("count", &scope()).unwrap_err()[0].message,
        "expected true or false, found int"
    );
}

#[test]
fn hostile_texts_are_refused_quickly() {
    let chain = format!("ports{}", ".a".repeat(2040));
    let deep = format!("{}on{}", "(".repeat(2000), ")".repeat(2000));
    let sum = format!("1{} > 0", "+1".repeat(2000));
    let nots = format!("{}on", "!".repeat(4000));
    let lists = format!("{}1{}", "[".repeat(2000), "]".repeat(2000));
    let loops = "ports.exists(p, ".repeat(200) + "on" + &")".repeat(200);
    for text in [&chain, &sum, &lists, &loops, &" ".repeat(TEXT_LIMIT), &"é".repeat(2000), &"'".repeat(99)] {
        assert!(Expr::compile(text, &scope()).is_err(), "{}", &text[..20]);
    }
    // Parentheses and doubled negations add no depth.
    let _ = Expr::compile(&deep, &scope());
    let _ = Expr::compile(&nots, &scope());
    assert_eq!(
        error(&format!("on || {}", "on || ".repeat(TEXT_LIMIT / 6))).1,
        "expression of 4098 bytes; the limit is 4096"
    );
    assert!(Expr::compile("99999999999999999999 > 0", &scope()).is_err());
    assert!(Expr::compile("-9223372036854775808 < 0", &scope()).is_ok());
    assert!(Expr::compile("0xffffffffffffffff > 0", &scope()).is_err());
    assert!(Expr::compile("1e999 > 0.0", &scope()).is_err());
}

#[test]
fn a_costly_expression_stops() {
    let list = format!("[{}]", ["1"; 200].join(","));
    let text = format!("{list}.all(a, {list}.all(b, {list}.all(c, {list}.all(d, a == d))))");
    assert_eq!(value(&text), "open: too costly for these facts");
    let double = |c: char| format!(".map({c}, {c} + {c})");
    let doubling = format!("['x']{}", ('a'..='z').map(double).collect::<Vec<_>>().concat());
    assert_eq!(value(&doubling), "open: the text grows too long");
}

/// Every closed expression gives what CEL's own interpreter gives.
#[test]
fn results_agree_with_cel() {
    for text in [
        "1 + 2 * 3 - 4 / 2",
        "7 % 3",
        "-7 / 2",
        "-7 % 3",
        "'a' + 'b'",
        "[1, 2] + [3]",
        "1 == 1.0",
        "1 < 2.5",
        "2.5 >= 2",
        "'a' < 'b'",
        "!true",
        "-(3)",
        "true ? 1 : 2",
        "1 in [1, 2]",
        "3 in [1, 2]",
        "[1, 2][1]",
        "[1, 2].all(x, x > 0)",
        "[1, 2].exists(x, x > 1)",
        "[1, 2, 1].exists_one(x, x == 1)",
        "[1, 2, 3].filter(x, x > 1)",
        "[1, 2, 3].map(x, x * 2)",
        "[1, 2, 3].map(x, x > 1, x * 2)",
        "[].all(x, x > 0)",
        "[].exists(x, x > 0)",
        "size([1, 2])",
        "size('πέ')",
        "[1].size()",
        "'abc'.contains('b')",
        "'abc'.startsWith('a')",
        "'abc'.endsWith('a')",
        "'abc'.matches('b')",
        "'abc'.matches('^b')",
        "int('7')",
        "int(2.9)",
        "int(-2.9)",
        "string(7)",
        "double(2) / 4.0",
        "null == null",
        "null == 1",
        "1 != null",
        "[1, 2] == [1, 2]",
        "[1, 2] == [2, 1]",
        "[[1]] == [[1]]",
        "1 / 0 == 1 || true",
        "true || 1 / 0 == 1",
        "1 / 0 == 1 && false",
        "false && 1 / 0 == 1",
        "1 / 0 == 1 || false",
        "1 / 0 == 1 && true",
        "[1, 0, 2].exists(x, 4 / x == 2)",
        "[0, 1].all(x, 4 / x == 2)",
        "[0, 2].all(x, 4 / x == 2)",
        "[0, 1].exists(x, 4 / x == 2)",
        "[0, 1].filter(x, 1 / x == 1) == [1]",
        "[1, 2].exists(x, [2, 3].exists(y, x == y))",
        "0x10 + 1",
        "9223372036854775807 + 1",
        "'it''s' == 'its'",
        "\"a\\n\" == 'a\\n'",
        "r'\\n' == '\\\\n'",
        "true && true || false && false",
        "1 - 1 - 1",
        "10 / 5 * 2",
        "true ? false ? 1 : 2 : 3",
    ] {
        let theirs = cel::Program::compile(text).map(|p| p.execute(&cel::Context::default()));
        let Ok(ours) = Expr::compile(text, &scope()) else {
            assert!(theirs.is_err(), "{text}: CEL accepts it");
            continue;
        };
        let facts = crate::host::Projected::default();
        let env = Env::new(&facts);
        match (ours.eval(&env).verdict, theirs.unwrap()) {
            (Verdict::Value(ours), Ok(theirs)) => assert_eq!(ours.words(), words(&theirs), "{text}"),
            (Verdict::Undetermined(_), Err(_)) => {}
            (ours, theirs) => panic!("{text}: {ours:?} against {theirs:?}"),
        }
    }
}

fn words(value: &cel::Value) -> String {
    match value {
        cel::Value::Bool(v) => v.to_string(),
        cel::Value::Int(v) => v.to_string(),
        cel::Value::Float(v) => v.to_string(),
        cel::Value::String(v) => v.to_string(),
        cel::Value::List(v) => v.iter().map(words).collect::<Vec<_>>().join(", "),
        other => format!("{other:?}"),
    }
}

proptest::proptest! {
    #[test]
    fn no_text_panics(text in "\\PC{0,80}") {
        let _ = Expr::compile(&text, &scope());
    }

    #[test]
    fn no_text_of_the_language_panics(parts in proptest::collection::vec(proptest::sample::select(vec![
        "ports", "words", "count", "release", "on", "ratio", ".", "[", "]", "(", ")", ",", " ", "&&", "||", "!", "-",
        "?", ":", "==", "<", "+", "*", "/", "%", " in ", "p", "q", ".exists(p, ", ".all(q, ", ".map(p, ",
        ".filter(p, ", "p.width", "p.bdf", "first(", "join(", "sum(", "has(", "size(", "null", "true", "1", "0", "0x",
        "9223372036854775807", "1u", "1.5", "'a'", "\"", "'", "\\", "`", "{", "}", "b'", "r'", "é", "🦀", "\n", "//",
        ".size()", ".matches('", "host", "@", "a", ".a",
    ]), 0..24)) {
        let text = parts.concat();
        if let Ok(expr) = Expr::compile(&text, &scope()) {
            let facts = project(&small());
            let env = Env::new(&facts);
            let _ = expr.eval(&env);
            let _ = expr.items(&env);
        }
    }
}
