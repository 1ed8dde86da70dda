//! Text for people.

pub mod audit;
pub mod change;
pub mod compare;
pub mod ledger;
pub mod pairs;
pub mod plan;
pub mod record;
pub mod rule;
pub mod trial;
