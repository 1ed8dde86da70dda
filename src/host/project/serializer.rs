//! The serialiser behind [`super::project`]: plain values go up, evidence and reasons go aside.

use super::Projected;
use super::aside::{evidence, reason};
use crate::root::FactPart;
use serde::ser::{
    Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant, Serializer,
};
use serde_json::{Map, Value};

/// The plain value of `facts`; none for an unknown fact.
pub(super) fn value<T: Serialize>(facts: &T, out: &mut Projected) -> Result<Option<Value>, Failed> {
    facts.serialize(&mut Walk { path: String::new(), aside: false, out })
}

/// Facts have a shape that is no JSON.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct Failed(String);

impl serde::ser::Error for Failed {
    fn custom<T: std::fmt::Display>(message: T) -> Self {
        Self(message.to_string())
    }
}

type Done = Result<Option<Value>, Failed>;

/// Where the walk stands.
struct Walk<'o> {
    /// JSON pointer.
    path: String,
    /// Inside evidence or a reason, which hold no facts: the place is not kept.
    aside: bool,
    out: &'o mut Projected,
}

impl Walk<'_> {
    /// The value of a field.
    fn field<T: Serialize + ?Sized>(&mut self, key: &str, value: &T) -> Done {
        let length = self.path.len();
        self.path.push('/');
        self.path.push_str(key);
        let done = value.serialize(&mut *self);
        self.path.truncate(length);
        done
    }

    /// An element of a list.
    fn element<T: Serialize + ?Sized>(&mut self, index: usize, value: &T) -> Done {
        if self.aside { value.serialize(self) } else { self.field(&index.to_string(), value) }
    }

    /// A part of a fact that is no value.
    fn aside<T: Serialize + ?Sized>(&mut self, part: &T) -> Done {
        self.aside = true;
        let done = part.serialize(&mut *self);
        self.aside = false;
        done
    }
}

/// A plain scalar.
macro_rules! scalars {
    ($($method:ident: $type:ty),*) => {
        $(fn $method(self, value: $type) -> Done {
            Ok(Some(Value::from(value)))
        })*
    };
}

impl<'w, 'o> Serializer for &'w mut Walk<'o> {
    type Ok = Option<Value>;
    type Error = Failed;
    type SerializeSeq = Elements<'w, 'o>;
    type SerializeTuple = Elements<'w, 'o>;
    type SerializeTupleStruct = Elements<'w, 'o>;
    type SerializeTupleVariant = Elements<'w, 'o>;
    type SerializeMap = Fields<'w, 'o>;
    type SerializeStruct = Fields<'w, 'o>;
    type SerializeStructVariant = Fields<'w, 'o>;

    scalars! {
        serialize_bool: bool, serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64,
        serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64, serialize_f32: f32,
        serialize_f64: f64, serialize_str: &str, serialize_bytes: &[u8]
    }

    fn serialize_char(self, value: char) -> Done {
        Ok(Some(Value::String(value.to_string())))
    }

    fn serialize_none(self) -> Done {
        Ok(Some(Value::Null))
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Done {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Done {
        Ok(Some(Value::Null))
    }

    fn serialize_unit_struct(self, _: &'static str) -> Done {
        Ok(Some(Value::Null))
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Done {
        Ok(Some(Value::from(variant)))
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Done {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Done {
        let value = self.field(variant, value)?.unwrap_or(Value::Null);
        Ok(Some(wrapped(Some(variant), value)))
    }

    fn serialize_seq(self, length: Option<usize>) -> Result<Self::SerializeSeq, Failed> {
        Ok(Elements::new(self, length.unwrap_or(0), None))
    }

    fn serialize_tuple(self, length: usize) -> Result<Self::SerializeTuple, Failed> {
        Ok(Elements::new(self, length, None))
    }

    fn serialize_tuple_struct(
        self,
        _: &'static str,
        length: usize,
    ) -> Result<Self::SerializeTupleStruct, Failed> {
        Ok(Elements::new(self, length, None))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        length: usize,
    ) -> Result<Self::SerializeTupleVariant, Failed> {
        Ok(Elements::new(self, length, Some(variant)))
    }

    fn serialize_map(self, length: Option<usize>) -> Result<Self::SerializeMap, Failed> {
        Ok(Fields::new(self, length.unwrap_or(0), None))
    }

    fn serialize_struct(self, name: &'static str, length: usize) -> Result<Self::SerializeStruct, Failed> {
        let is_fact = name == FactPart::STRUCT;
        let mut fields = Fields::new(self, if is_fact { 0 } else { length }, None);
        fields.is_fact = is_fact;
        Ok(fields)
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        length: usize,
    ) -> Result<Self::SerializeStructVariant, Failed> {
        Ok(Fields::new(self, length, Some(variant)))
    }
}

/// The form that serde gives an enum with data.
fn wrapped(variant: Option<&str>, value: Value) -> Value {
    match variant {
        Some(variant) => Value::Object(Map::from_iter([(variant.to_owned(), value)])),
        None => value,
    }
}

/// A list; an unknown element is `null`, so that the others keep their places.
struct Elements<'w, 'o> {
    walk: &'w mut Walk<'o>,
    done: Vec<Value>,
    variant: Option<&'static str>,
}

impl<'w, 'o> Elements<'w, 'o> {
    fn new(walk: &'w mut Walk<'o>, length: usize, variant: Option<&'static str>) -> Self {
        Self { walk, done: Vec::with_capacity(length), variant }
    }

    fn add<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Failed> {
        let value = self.walk.element(self.done.len(), value)?;
        self.done.push(value.unwrap_or(Value::Null));
        Ok(())
    }

    fn finish(self) -> Value {
        wrapped(self.variant, Value::Array(self.done))
    }
}

/// An object without its unknown facts, or a fact.
struct Fields<'w, 'o> {
    walk: &'w mut Walk<'o>,
    done: Map<String, Value>,
    key: String,
    variant: Option<&'static str>,
    is_fact: bool,
    /// Plain value of a known or absent fact.
    value: Option<Value>,
}

impl<'w, 'o> Fields<'w, 'o> {
    fn new(walk: &'w mut Walk<'o>, length: usize, variant: Option<&'static str>) -> Self {
        let done = Map::with_capacity(length);
        Self { walk, done, key: String::new(), variant, is_fact: false, value: None }
    }

    fn add<T: Serialize + ?Sized>(&mut self, key: &str, value: &T) -> Result<(), Failed> {
        if self.is_fact {
            return self.part(key, value);
        }
        if let Some(value) = self.walk.field(key, value)? {
            self.done.insert(key.to_owned(), value);
        }
        Ok(())
    }

    /// A part of a fact, at the fact's own place.
    fn part<T: Serialize + ?Sized>(&mut self, name: &str, part: &T) -> Result<(), Failed> {
        let walk = &mut *self.walk;
        if name == FactPart::VALUE {
            self.value = part.serialize(walk)?;
            return Ok(());
        }
        let part = walk.aside(part)?;
        let place = walk.path.clone();
        if name == FactPart::EVIDENCE {
            walk.out.evidence.insert(place, evidence(part));
        } else if let Some(reason) = reason(part) {
            walk.out.unknown.insert(place, reason);
        }
        Ok(())
    }

    fn finish(self) -> Option<Value> {
        if self.is_fact { self.value } else { Some(wrapped(self.variant, Value::Object(self.done))) }
    }
}

/// Lists of every kind.
macro_rules! elements {
    ($($kind:ident: $method:ident),*) => {
        $(impl $kind for Elements<'_, '_> {
            type Ok = Option<Value>;
            type Error = Failed;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Failed> {
                self.add(value)
            }

            fn end(self) -> Done {
                Ok(Some(self.finish()))
            }
        })*
    };
}

elements! {
    SerializeSeq: serialize_element, SerializeTuple: serialize_element, SerializeTupleStruct: serialize_field,
    SerializeTupleVariant: serialize_field
}

/// Objects with fixed keys.
macro_rules! fields {
    ($($kind:ident),*) => {
        $(impl $kind for Fields<'_, '_> {
            type Ok = Option<Value>;
            type Error = Failed;

            fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<(), Failed> {
                self.add(key, value)
            }

            fn end(self) -> Done {
                Ok(self.finish())
            }
        })*
    };
}

fields! { SerializeStruct, SerializeStructVariant }

impl SerializeMap for Fields<'_, '_> {
    type Ok = Option<Value>;
    type Error = Failed;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Failed> {
        self.key = match key.serialize(&mut *self.walk)? {
            Some(Value::String(key)) => key,
            Some(Value::Number(key)) => key.to_string(),
            _ => return Err(Failed("a key that is no text".to_owned())),
        };
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Failed> {
        let key = std::mem::take(&mut self.key);
        self.add(&key, value)
    }

    fn end(self) -> Done {
        Ok(self.finish())
    }
}
