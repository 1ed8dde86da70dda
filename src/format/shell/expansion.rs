//! Extent of `$…` and backtick expansions. Only the extent matters: a value that holds one is computed, and
//! is never edited.

/// Deeper nesting than this is given up; no configuration needs it.
const DEPTH: usize = 24;

/// What stands at a `$` or a backtick.
pub(super) enum Extent {
    /// An expansion that ends before this offset.
    To(usize),
    /// The `$` is an ordinary character.
    Literal,
    /// It cannot be followed; why.
    Lost(&'static str),
}

/// The extent of the expansion at `pos`. `quoted` within double quotes.
pub(super) fn extent(bytes: &[u8], pos: usize, quoted: bool) -> Extent {
    match at(bytes, pos, quoted, 0) {
        Ok(Some(end)) => Extent::To(end),
        Ok(None) => Extent::Literal,
        Err(why) => Extent::Lost(why),
    }
}

fn at(bytes: &[u8], pos: usize, quoted: bool, depth: usize) -> Result<Option<usize>, &'static str> {
    if depth > DEPTH {
        return Err("expansions nested too deeply to follow");
    }
    if bytes.get(pos) == Some(&b'`') {
        return backtick(bytes, pos + 1).map(Some);
    }
    match bytes.get(pos + 1) {
        Some(b'(') => parenthesis(bytes, pos + 2, depth).map(Some),
        Some(b'{') => brace(bytes, pos + 2, quoted, depth).map(Some),
        Some(b'a'..=b'z' | b'A'..=b'Z' | b'_') => {
            let rest = bytes.get(pos + 1..).unwrap_or_default();
            let name = rest.iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count();
            Ok(Some(pos + 1 + name))
        }
        Some(b'0'..=b'9' | b'@' | b'*' | b'#' | b'?' | b'-' | b'$' | b'!') => Ok(Some(pos + 2)),
        // bash reads $'…' and $"…" as one thing, dash as a dollar sign and quotes.
        Some(b'\'' | b'"') if !quoted => Err("`$` before a quote, which shells read in different ways"),
        Some(b'\\') if bytes.get(pos + 2) == Some(&b'\n') => Err("`$` at the end of a joined line"),
        // bash takes $[…] as arithmetic.
        Some(b'[') => Err("`$[`, which shells read in different ways"),
        _ => Ok(None),
    }
}

fn backtick(bytes: &[u8], mut pos: usize) -> Result<usize, &'static str> {
    loop {
        match bytes.get(pos) {
            Some(b'`') => return Ok(pos + 1),
            Some(b'\\') => pos += 2,
            Some(0 | b'\r') | None => return Err("a backtick that is never closed"),
            Some(_) => pos += 1,
        }
    }
}

/// `$(…)` and `$((…))` after the first parenthesis.
fn parenthesis(bytes: &[u8], mut pos: usize, depth: usize) -> Result<usize, &'static str> {
    const OPEN: &str = "`$(` that is never closed";
    let mut open = 1_usize;
    let mut start = true;
    while open > 0 {
        let byte = *bytes.get(pos).ok_or(OPEN)?;
        let word_start = std::mem::take(&mut start);
        match byte {
            b'(' => (open, start) = (open + 1, true),
            b')' => (open, start) = (open - 1, true),
            b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'>' => start = true,
            0 | b'\r' => return Err(OPEN),
            b'<' if bytes.get(pos + 1) == Some(&b'<') => return Err("a here-document inside `$(`"),
            b'c' if word_start && bytes.get(pos..).is_some_and(|r| r.starts_with(b"case")) => {
                return Err("`case` inside `$(`");
            }
            b'#' if word_start => {
                let rest = bytes.get(pos..).unwrap_or_default();
                pos += rest.iter().position(|b| *b == b'\n').ok_or(OPEN)?;
                start = true;
            }
            _ => {
                pos = skip(bytes, pos, false, depth)?;
                continue;
            }
        }
        pos += 1;
    }
    Ok(pos)
}

/// `${…}` after the brace.
fn brace(bytes: &[u8], mut pos: usize, quoted: bool, depth: usize) -> Result<usize, &'static str> {
    loop {
        match bytes.get(pos) {
            Some(b'}') => return Ok(pos + 1),
            Some(b'\'') if quoted => {
                return Err("a single quote inside `${`, which shells read in different ways");
            }
            Some(0 | b'\r') | None => return Err("`${` that is never closed"),
            Some(_) => pos = skip(bytes, pos, quoted, depth)?,
        }
    }
}

/// Passes one character, quoted string or expansion.
fn skip(bytes: &[u8], pos: usize, quoted: bool, depth: usize) -> Result<usize, &'static str> {
    match bytes.get(pos) {
        Some(b'\\') => Ok(pos + 2),
        Some(b'\'') if !quoted => {
            let rest = bytes.get(pos + 1..).unwrap_or_default();
            let len = rest.iter().position(|b| *b == b'\'').ok_or("a single quote that is never closed")?;
            Ok(pos + len + 2)
        }
        Some(b'"') => {
            let mut inner = pos + 1;
            loop {
                match bytes.get(inner) {
                    Some(b'"') => return Ok(inner + 1),
                    None => return Err("a double quote that is never closed"),
                    Some(b'\'') => inner += 1,
                    Some(_) => inner = skip(bytes, inner, true, depth)?,
                }
            }
        }
        Some(b'$' | b'`') => Ok(at(bytes, pos, quoted, depth + 1)?.unwrap_or(pos + 1)),
        _ => Ok(pos + 1),
    }
}
