//! Two records become a verdict. Pure; `compare` uses it alone.
