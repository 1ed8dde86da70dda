//! Command structure (POSIX shell grammar, section 2.10), as far as it decides whether an assignment happens.

use super::{Event, Trouble, assignment, literal, trouble};
use crate::format::line_of;
use crate::format::shell::{Kind, Piece, Tail, Token};
use std::collections::HashSet;
use std::ops::Range;

/// Commands that can set any variable; a later assignment settles it again.
const SETS: [&str; 14] = [
    "eval",
    ".",
    "source",
    "read",
    "getopts",
    "declare",
    "typeset",
    "local",
    "let",
    "mapfile",
    "readarray",
    "time",
    "coproc",
    "printf -v",
];

/// Commands after which nothing later in the files is certain: they end the reading, freeze variables or
/// change what words mean.
const ENDS: [&str; 9] =
    ["exit", "return", "exec", "readonly", "alias", "shopt", "enable", "command", "builtin"];

/// Special built-ins (POSIX, section 2.14) that are not named above: an assignment before one of them outlives
/// it in some shells.
const SPECIAL: [&str; 9] = [":", "export", "unset", "set", "shift", "times", "trap", "break", "continue"];

/// What the tokens do to variables.
pub(super) fn events(bytes: &[u8], tokens: &[Token]) -> Result<Vec<Event>, Trouble> {
    let mut parser = Parser {
        bytes,
        tokens,
        next: 0,
        events: Vec::new(),
        stack: Vec::new(),
        command: Command::default(),
        list: List::default(),
        functions: HashSet::new(),
    };
    while let Some(token) = parser.tokens.get(parser.next) {
        parser.next += 1;
        match &token.kind {
            Kind::Blank | Kind::Comment | Kind::Rest => {}
            Kind::HereDocument => parser.expansions(&token.range),
            Kind::Newline => parser.newline()?,
            Kind::Operator => parser.operator(&token.range)?,
            Kind::Word { pieces, tail } => parser.word(pieces, *tail, &token.range)?,
        }
    }
    parser.end_command(false)?;
    match parser.stack.last() {
        None if parser.list.open || parser.list.function => {
            Err(trouble(bytes, bytes.len(), "an operator or a function without a command after it"))
        }
        None => Ok(parser.events),
        Some((_, offset)) => Err(trouble(bytes, *offset, "a construct that is never closed")),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Block {
    If,
    Loop,
    /// `for NAME in …`, before `do`.
    LoopHead,
    /// `case WORD`, before `in`.
    CaseHead,
    /// `case`, where a pattern stands.
    Pattern,
    /// `case`, after a pattern.
    Branch,
    Group,
    Subshell,
    /// Bash's `[[ … ]]`.
    Test,
}

/// The simple command being read.
#[derive(Default)]
struct Command {
    /// Events of assignment words before the command's name, or of `export` arguments.
    pending: Vec<Event>,
    /// How many of them stand before the name.
    prefix: usize,
    /// First word.
    name: Option<String>,
    /// The next word is the target of a redirection.
    redirect: bool,
    /// It has a redirection.
    redirected: bool,
    /// It follows a compound command: only redirections may follow.
    closed: bool,
    /// Offset of its first token.
    start: Option<usize>,
}

/// The list of commands that `&&`, `||` and `|` join.
#[derive(Default)]
struct List {
    /// A `&&`, `||` or `|` stands before the command.
    joined: bool,
    /// An operator was the last token, so that newlines do not end the list.
    open: bool,
    /// The body of a function follows.
    function: bool,
    /// Events of this list, for `&` at its end.
    from: usize,
}

struct Parser<'a> {
    bytes: &'a [u8],
    tokens: &'a [Token],
    next: usize,
    events: Vec<Event>,
    stack: Vec<(Block, usize)>,
    command: Command,
    list: List,
    functions: HashSet<String>,
}

impl Parser<'_> {
    fn top(&self) -> Option<Block> {
        self.stack.last().map(|(block, _)| *block)
    }

    fn at_command(&self) -> bool {
        self.command.start.is_none() && !self.command.closed
    }

    fn newline(&mut self) -> Result<(), Trouble> {
        if matches!(self.top(), Some(Block::Pattern | Block::CaseHead | Block::LoopHead | Block::Test)) {
            return Ok(());
        }
        let empty = self.at_command();
        self.end_command(false)?;
        if !(empty && (self.list.open || self.list.function)) {
            self.end_list();
        }
        Ok(())
    }

    fn end_list(&mut self) {
        self.list = List { from: self.events.len(), ..List::default() };
    }

    /// Ends the simple command; `piped` when it is part of a pipeline.
    fn end_command(&mut self, piped: bool) -> Result<(), Trouble> {
        let command = std::mem::take(&mut self.command);
        let Some(start) = command.start else { return Ok(()) };
        if command.redirect {
            return Err(trouble(self.bytes, start, "a redirection without a target"));
        }
        let obstacle = if command.redirected {
            Some("it happens only if a redirection beside it does")
        } else if piped || self.list.joined {
            Some("it depends on another command (`&&`, `||` or a pipeline)")
        } else {
            match self.top() {
                None => None,
                Some(Block::If) => Some("it stands inside `if`"),
                Some(Block::Loop | Block::LoopHead) => Some("it stands inside a loop"),
                Some(Block::Subshell) => Some("it stands inside `( )`"),
                Some(Block::Group) => Some("it stands inside `{ }`"),
                Some(_) => Some("it stands inside `case`"),
            }
        };
        let name = command.name.as_deref().unwrap_or_default();
        let lasting = ENDS.contains(&name) || self.functions.contains(name) || name == "\0";
        let opaque = lasting || SETS.contains(&name);
        let why = obstacle.map(str::to_owned);
        // Before an ordinary command an assignment lasts for that command alone: no event.
        let special = opaque || SPECIAL.contains(&name);
        let kept = if command.name.is_none() || special { 0 } else { command.prefix };
        for (index, mut event) in command.pending.into_iter().enumerate().skip(kept) {
            let beside = special && index < command.prefix;
            match &mut event {
                Event::Assign(a) if beside => {
                    a.obstacle.get_or_insert_with(|| "it stands before a command".to_owned());
                }
                Event::Assign(a) => a.obstacle = a.obstacle.take().or(why.clone()),
                Event::Unset { obstacle: o, .. } => o.clone_from(&why),
                Event::Opaque { .. } => {}
            }
            self.events.push(event);
        }
        if opaque {
            let line = line_of(self.bytes, start);
            let what = if name == "\0" { "a computed command".to_owned() } else { format!("`{name}`") };
            self.events.push(Event::Opaque { line, what, lasting });
        }
        Ok(())
    }

    fn operator(&mut self, range: &Range<usize>) -> Result<(), Trouble> {
        let text = self.bytes.get(range.clone()).unwrap_or_default();
        let here = |reason: &str| trouble(self.bytes, range.start, reason);
        match self.top() {
            Some(Block::Test) => return Ok(()),
            Some(Block::Pattern) => match text {
                b")" => {
                    self.replace_top(Block::Branch);
                    return Ok(());
                }
                b"(" | b"|" => return Ok(()),
                _ => return Err(here("expected a pattern of `case`")),
            },
            Some(Block::LoopHead) if text == b";" => return Ok(()),
            Some(Block::CaseHead | Block::LoopHead) => {
                return Err(here("expected the head of `case` or `for`"));
            }
            _ => {}
        }
        match text {
            b"<" | b">" | b">>" | b"<&" | b">&" | b"<>" | b">|" | b"<<" | b"<<-" => {
                if self.command.redirect {
                    return Err(here("a redirection without a target"));
                }
                self.command.start.get_or_insert(range.start);
                // The word after `<<` is the delimiter: a target like any other.
                self.command.redirect = true;
                self.command.redirected = true;
            }
            b"(" => return self.open_parenthesis(range),
            b")" => {
                self.end_command(false)?;
                self.end_list();
                self.close(Block::Subshell, range.start)?;
            }
            b";;" | b";&" => {
                self.end_command(false)?;
                self.end_list();
                if self.top() != Some(Block::Branch) {
                    return Err(here("`;;` outside `case`"));
                }
                self.replace_top(Block::Pattern);
            }
            _ => {
                if self.at_command() {
                    return Err(here("an operator without a command before it"));
                }
                self.join(text)?;
            }
        }
        Ok(())
    }

    /// `;`, `&`, `&&`, `||`, `|` after a command.
    fn join(&mut self, text: &[u8]) -> Result<(), Trouble> {
        self.end_command(text == b"|")?;
        match text {
            b";" => self.end_list(),
            b"&" => {
                for event in self.events.iter_mut().skip(self.list.from) {
                    if let Event::Assign(a) = event {
                        a.obstacle.get_or_insert_with(|| "it runs in the background (`&`)".to_owned());
                    }
                }
                self.end_list();
            }
            _ => {
                self.list.joined = true;
                self.list.open = true;
            }
        }
        Ok(())
    }

    fn open_parenthesis(&mut self, range: &Range<usize>) -> Result<(), Trouble> {
        let next = self.tokens.get(self.next);
        let adjacent = |byte: u8| next.is_some_and(|t| self.bytes.get(t.range.start) == Some(&byte));
        if self.at_command() {
            if adjacent(b'(') {
                return Err(trouble(self.bytes, range.start, "`((`, which shells read in different ways"));
            }
            self.open(Block::Subshell, range.start);
            return Ok(());
        }
        let close = self.tokens.iter().enumerate().skip(self.next).find(|(_, t)| t.kind != Kind::Blank);
        let function = self.command.name.take().filter(|_| self.command.pending.is_empty());
        match (function, close) {
            (Some(name), Some((index, token)))
                if self.bytes.get(token.range.clone()) == Some(b")") && !self.command.redirect =>
            {
                let word = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
                if !word || name.starts_with(|c: char| c.is_ascii_digit()) {
                    return Err(trouble(
                        self.bytes,
                        range.start,
                        "a function whose name not every shell allows",
                    ));
                }
                self.next = index + 1;
                self.functions.insert(name);
                self.command = Command::default();
                self.list.function = true;
                Ok(())
            }
            _ => Err(trouble(self.bytes, range.start, "a parenthesis that is not expected here")),
        }
    }

    fn open(&mut self, block: Block, offset: usize) {
        self.stack.push((block, offset));
        self.command = Command::default();
        self.end_list();
    }

    fn replace_top(&mut self, block: Block) {
        if let Some((top, _)) = self.stack.last_mut() {
            *top = block;
        }
        self.command = Command::default();
    }

    fn close(&mut self, block: Block, offset: usize) -> Result<(), Trouble> {
        match self.stack.pop() {
            Some((top, _)) if top == block => {
                self.command = Command { closed: true, ..Command::default() };
                Ok(())
            }
            _ => Err(trouble(self.bytes, offset, "the end of a construct that was not begun")),
        }
    }

    fn word(&mut self, pieces: &[Piece], tail: Tail, range: &Range<usize>) -> Result<(), Trouble> {
        let text = literal(pieces, range);
        let text = text.as_deref();
        for piece in pieces.iter().filter(|p| p.byte.is_none()) {
            self.expansions(&piece.at);
        }
        match self.top() {
            Some(Block::Test) => {
                if text == Some("]]") {
                    self.stack.pop();
                }
                return Ok(());
            }
            Some(Block::Pattern) => {
                if text == Some("esac") {
                    self.close(Block::Pattern, range.start)?;
                }
                return Ok(());
            }
            Some(Block::CaseHead) => {
                if text == Some("in") {
                    self.replace_top(Block::Pattern);
                }
                return Ok(());
            }
            Some(Block::LoopHead) => {
                if text == Some("do") {
                    self.replace_top(Block::Loop);
                } else if !std::mem::replace(&mut self.command.closed, true) {
                    self.may_set(text, range.start, "a loop sets it");
                }
                return Ok(());
            }
            _ => {}
        }
        self.list.open = false;
        if std::mem::take(&mut self.command.redirect) {
            return Ok(());
        }
        let number = text.is_some_and(|t| t.bytes().all(|b| b.is_ascii_digit()));
        if number && matches!(self.bytes.get(range.end), Some(b'<' | b'>')) {
            return Ok(());
        }
        if self.command.start.is_none()
            && let Some(text) = text
            && self.reserved(text, range.start)?
        {
            return Ok(());
        }
        if self.list.function {
            return Err(trouble(self.bytes, range.start, "a function without a body in braces"));
        }
        if self.command.closed {
            return Err(trouble(self.bytes, range.start, "a word after the end of a construct"));
        }
        self.command.start.get_or_insert(range.start);
        self.plain_word(pieces, tail, range, text)
    }

    /// Notes variables that expansions set: `${NAME:=value}` and assignments in `$((…))`.
    fn expansions(&mut self, range: &Range<usize>) {
        let bytes = self.bytes;
        let text = bytes.get(range.clone()).unwrap_or_default();
        let at = |needle: &'static [u8]| {
            text.windows(needle.len()).enumerate().filter(move |(_, w)| *w == needle).map(|(i, _)| i)
        };
        for start in at(b"${").map(|i| i + 2) {
            let rest = text.get(start..).unwrap_or_default();
            let len = rest.iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count();
            let (name, after) = rest.split_at(len);
            if after.starts_with(b"=") || after.starts_with(b":=") {
                let name = String::from_utf8_lossy(name).into_owned();
                self.may_set(Some(&name), range.start, "an expansion may set it");
            }
        }
        let arithmetic = at(b"$((").next().is_some();
        if arithmetic && [&b"="[..], b"++", b"--"].iter().any(|n| text.windows(n.len()).any(|w| w == *n)) {
            self.may_set(None, range.start, "");
        }
    }

    /// Something other than an assignment sets `name`, or a variable that cannot be told.
    fn may_set(&mut self, name: Option<&str>, offset: usize, why: &str) {
        let line = line_of(self.bytes, offset);
        self.events.push(match name {
            Some(name) => Event::Unset { name: name.to_owned(), line, obstacle: Some(why.to_owned()) },
            None => Event::Opaque { line, what: "an expansion or a loop".to_owned(), lasting: false },
        });
    }

    /// A word of a simple command.
    fn plain_word(
        &mut self,
        pieces: &[Piece],
        tail: Tail,
        range: &Range<usize>,
        text: Option<&str>,
    ) -> Result<(), Trouble> {
        match self.command.name.as_deref() {
            None => match assignment::parse(self.bytes, pieces, tail, range, false) {
                Some(found) => {
                    if found.value.is_empty() && self.bytes.get(range.end) == Some(&b'(') {
                        return Err(trouble(
                            self.bytes,
                            range.start,
                            "an array, which not every shell knows",
                        ));
                    }
                    self.command.pending.push(Event::Assign(found));
                }
                None => {
                    self.command.prefix = self.command.pending.len();
                    // A quoted or computed name runs a command that cannot be told.
                    self.command.name = Some(text.unwrap_or("\0").to_owned());
                    if text == Some("[[") {
                        self.stack.push((Block::Test, range.start));
                    }
                }
            },
            Some("unset") => {
                if let Some(name) = text.filter(|t| !t.starts_with('-')) {
                    self.command.pending.push(Event::Unset {
                        name: name.to_owned(),
                        line: line_of(self.bytes, range.start),
                        obstacle: None,
                    });
                } else if text != Some("-v") {
                    self.command.name = Some("\0".to_owned());
                }
            }
            Some("export") => {
                if let Some(found) = assignment::parse(self.bytes, pieces, tail, range, true) {
                    self.command.pending.push(Event::Assign(found));
                } else if text.is_none() {
                    self.command.name = Some("\0".to_owned());
                }
            }
            Some(name @ ("printf" | "command")) => {
                if text == Some("-v") {
                    self.command.name = Some(format!("{name} -v"));
                }
            }
            Some(_) => {}
        }
        Ok(())
    }

    /// Handles a reserved word at command position; false when it is none.
    fn reserved(&mut self, text: &str, offset: usize) -> Result<bool, Trouble> {
        match text {
            "fi" => self.close(Block::If, offset)?,
            "done" => self.close(Block::Loop, offset)?,
            "esac" => self.close(Block::Branch, offset)?,
            "}" => self.close(Block::Group, offset)?,
            "then" | "else" | "elif" if self.top() == Some(Block::If) => self.command = Command::default(),
            "do" if self.top() == Some(Block::Loop) => self.command = Command::default(),
            "then" | "else" | "elif" | "do" => {
                return Err(trouble(self.bytes, offset, format!("`{text}` that belongs to nothing")));
            }
            _ if self.command.closed => return Ok(false),
            "if" => self.open(Block::If, offset),
            "while" | "until" => self.open(Block::Loop, offset),
            "for" | "select" => self.open(Block::LoopHead, offset),
            "case" => self.open(Block::CaseHead, offset),
            "{" => self.open(Block::Group, offset),
            "!" => {}
            "function" => return Err(trouble(self.bytes, offset, "`function`, which not every shell knows")),
            _ => return Ok(false),
        }
        Ok(true)
    }
}
