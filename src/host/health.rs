//! stub
use crate::root::Root;
use serde::{Deserialize, Serialize};
/// stub
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Health {}
impl Health {
    /// stub
    pub fn read(_root: &Root) -> Self {
        Self {}
    }
}
