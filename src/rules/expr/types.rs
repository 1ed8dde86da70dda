//! Types of expressions, taken from the JSON Schema of the facts.

use schemars::JsonSchema;
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, LazyLock};

/// Type of an expression or fact. Every fact may be `null` (absent), so that is no type of its own.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Type {
    /// Not known statically: `null`, an element of `[]`.
    Any,
    /// Boolean.
    Bool,
    /// 64-bit signed integer.
    Int,
    /// Floating-point number.
    Double,
    /// Text.
    Text,
    /// Text out of a closed set.
    Word(Arc<[String]>),
    /// List.
    List(Arc<Type>),
    /// Object, by the name of its definition.
    Object(Arc<str>),
}

impl Type {
    /// A list of `element`.
    pub fn list(element: Type) -> Self {
        Self::List(Arc::new(element))
    }

    /// Type of the elements of a list.
    pub fn element(&self) -> Option<&Type> {
        match self {
            Self::List(element) => Some(element),
            Self::Any => Some(&Self::Any),
            _ => None,
        }
    }

    /// Boolean, or not known.
    pub fn is_bool(&self) -> bool {
        matches!(self, Self::Bool | Self::Any)
    }

    /// Integer, or not known.
    pub fn is_int(&self) -> bool {
        matches!(self, Self::Int | Self::Any)
    }

    /// Number, or not known.
    pub fn is_number(&self) -> bool {
        matches!(self, Self::Int | Self::Double | Self::Any)
    }

    /// Text, or not known.
    pub fn is_text(&self) -> bool {
        matches!(self, Self::Text | Self::Word(_) | Self::Any)
    }

    /// Text, number or boolean, or not known: what can stand in a sentence.
    pub fn is_scalar(&self) -> bool {
        !matches!(self, Self::List(_) | Self::Object(_))
    }

    /// The type both have, when they can be compared or stand beside each other in a list.
    pub(super) fn common(&self, other: &Type) -> Option<Type> {
        match (self, other) {
            (Self::Any, x) | (x, Self::Any) => Some(x.clone()),
            (a, b) if a == b => Some(a.clone()),
            (a, b) if a.is_text() && b.is_text() => Some(Self::Text),
            (Self::List(a), Self::List(b)) => a.common(b).map(Self::list),
            _ => None,
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("any value"),
            Self::Bool => f.write_str("bool"),
            Self::Int => f.write_str("int"),
            Self::Double => f.write_str("double"),
            Self::Text | Self::Word(_) => f.write_str("string"),
            Self::List(element) => write!(f, "list of {element}"),
            Self::Object(name) => write!(f, "object ({name})"),
        }
    }
}

/// The objects that facts are made of.
#[derive(Debug)]
pub struct Schema {
    objects: BTreeMap<Arc<str>, BTreeMap<String, Type>>,
}

impl Schema {
    /// Reads the JSON Schema of `T`. Its fields are the variables of an expression.
    pub fn of<T: JsonSchema>() -> (Self, BTreeMap<String, Type>) {
        let root = Json::from(schemars::schema_for!(T));
        let mut schema = Self { objects: BTreeMap::new() };
        if let Some(definitions) = root.get("$defs").and_then(Json::as_object) {
            for (name, definition) in definitions {
                if definition.get("properties").is_some() {
                    let fields = schema.fields(definition, &root);
                    schema.objects.insert(name.as_str().into(), fields);
                }
            }
        }
        let variables = schema.fields(&root, &root);
        (schema, variables)
    }

    /// Fields of an object.
    pub fn fields_of(&self, object: &str) -> Option<&BTreeMap<String, Type>> {
        self.objects.get(object)
    }

    fn fields(&mut self, object: &Json, root: &Json) -> BTreeMap<String, Type> {
        let properties = object.get("properties").and_then(Json::as_object);
        let fields = properties.into_iter().flatten();
        fields.map(|(name, schema)| (name.clone(), self.read(schema, root, name))).collect()
    }

    /// `near` names an object that the schema holds inline.
    fn read(&mut self, schema: &Json, root: &Json, near: &str) -> Type {
        if let Some(name) = schema.get("$ref").and_then(Json::as_str) {
            let name = name.trim_start_matches("#/$defs/");
            let definition = root.get("$defs").and_then(|d| d.get(name));
            return match definition {
                Some(definition) if definition.get("properties").is_some() => Type::Object(name.into()),
                // A definition that is only a reference to itself would not end; schemars makes none.
                Some(definition) if definition.get("$ref").is_none() => self.read(definition, root, name),
                _ => Type::Any,
            };
        }
        if let Some(words) = words(schema) {
            return Type::Word(words.into());
        }
        for key in ["anyOf", "oneOf"] {
            if let Some(options) = schema.get(key).and_then(Json::as_array) {
                let mut known = options.iter().filter(|o| o.get("type") != Some(&Json::from("null")));
                return match (known.next(), known.next()) {
                    (Some(only), None) => self.read(only, root, near),
                    _ => Type::Any,
                };
            }
        }
        match type_word(schema) {
            Some("boolean") => Type::Bool,
            Some("integer") => Type::Int,
            Some("number") => Type::Double,
            Some("string") => Type::Text,
            Some("array") => {
                Type::list(schema.get("items").map_or(Type::Any, |items| self.read(items, root, near)))
            }
            Some("object") if schema.get("properties").is_some() => {
                let name: Arc<str> = near.into();
                let fields = self.fields(schema, root);
                self.objects.insert(Arc::clone(&name), fields);
                Type::Object(name)
            }
            _ => Type::Any,
        }
    }
}

/// The type beside `null`.
fn type_word(schema: &Json) -> Option<&str> {
    match schema.get("type")? {
        Json::String(word) => Some(word),
        Json::Array(words) => words.iter().filter_map(Json::as_str).find(|w| *w != "null"),
        _ => None,
    }
}

/// The values of a unit enum: `enum`, or `oneOf` over constants (that form keeps descriptions).
fn words(schema: &Json) -> Option<Vec<String>> {
    if let Some(values) = schema.get("enum").and_then(Json::as_array) {
        return values.iter().map(|v| v.as_str().map(str::to_owned)).collect();
    }
    let mut found = Vec::new();
    for option in schema.get("oneOf")?.as_array()? {
        match (option.get("const"), option.get("enum")) {
            (Some(Json::String(word)), _) => found.push(word.clone()),
            (None, Some(Json::Array(_))) => found.extend(words(option)?),
            _ => return None,
        }
    }
    Some(found)
}

/// The names that an expression may use.
#[derive(Clone, Debug)]
pub struct Scope {
    pub(super) schema: Arc<Schema>,
    pub(super) names: BTreeMap<String, Type>,
}

impl Scope {
    /// `host`, `boot` and `pairs`.
    pub fn facts() -> Self {
        static FACTS: LazyLock<Scope> = LazyLock::new(Scope::of::<crate::rules::Facts<'static>>);
        FACTS.clone()
    }

    /// The fields of `T` as variables.
    pub fn of<T: JsonSchema>() -> Self {
        let (schema, names) = Schema::of::<T>();
        Self { schema: Arc::new(schema), names }
    }

    /// This scope and one name more.
    #[must_use]
    pub fn with(&self, name: &str, ty: Type) -> Self {
        let mut more = self.clone();
        more.names.insert(name.to_owned(), ty);
        more
    }

    /// Type of a name.
    pub fn get(&self, name: &str) -> Option<&Type> {
        self.names.get(name)
    }

    /// The objects behind the names.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }
}
