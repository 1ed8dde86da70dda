//! Command structure (POSIX shell grammar, section 2.10), as far as it decides whether an assignment happens.

mod reserved;

use super::simple::{self, Command};
use super::{Assignment, Event, Trouble, literal};
use crate::format::Lines;
use crate::format::shell::{Kind, Piece, Tail, Token};
use std::collections::HashSet;
use std::ops::Range;

/// What the tokens do to variables.
pub(super) fn events(bytes: &[u8], tokens: &[Token]) -> Result<Vec<Event>, Trouble> {
    let mut parser = Parser {
        bytes,
        lines: Lines::new(bytes),
        tokens,
        next: 0,
        events: Vec::new(),
        stack: Vec::new(),
        command: Command::default(),
        list: List::default(),
        functions: HashSet::new(),
        late: Vec::new(),
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
            Err(parser.trouble(bytes.len(), "an operator or a function without a command after it"))
        }
        None => Ok(parser.events),
        Some((_, offset)) => Err(parser.trouble(*offset, "a construct that is never closed")),
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
    lines: Lines,
    tokens: &'a [Token],
    next: usize,
    events: Vec<Event>,
    stack: Vec<(Block, usize)>,
    command: Command,
    list: List,
    functions: HashSet<String>,
    /// What expansions of the command being read may set.
    late: Vec<Event>,
}

impl Parser<'_> {
    fn top(&self) -> Option<Block> {
        self.stack.last().map(|(block, _)| *block)
    }

    fn trouble(&self, offset: usize, reason: impl Into<String>) -> Trouble {
        Trouble::new(self.lines.of(offset), reason)
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
            return Err(self.trouble(start, "a redirection without a target"));
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
        let line = self.lines.of(start);
        self.events.extend(command.events(obstacle, &self.functions, line));
        self.events.append(&mut self.late);
        Ok(())
    }

    fn operator(&mut self, range: &Range<usize>) -> Result<(), Trouble> {
        let text = self.bytes.get(range.clone()).unwrap_or_default();
        match self.top() {
            Some(Block::Test) => return Ok(()),
            Some(Block::Pattern) => match text {
                b")" => {
                    self.replace_top(Block::Branch);
                    return Ok(());
                }
                b"(" | b"|" => return Ok(()),
                _ => return Err(self.trouble(range.start, "expected a pattern of `case`")),
            },
            Some(Block::LoopHead) if text == b";" => return Ok(()),
            Some(Block::CaseHead | Block::LoopHead) => {
                return Err(self.trouble(range.start, "expected the head of `case` or `for`"));
            }
            _ => {}
        }
        match text {
            b"<" | b">" | b">>" | b"<&" | b">&" | b"<>" | b">|" | b"<<" | b"<<-" => {
                if self.command.redirect {
                    return Err(self.trouble(range.start, "a redirection without a target"));
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
                    return Err(self.trouble(range.start, "`;;` outside `case`"));
                }
                self.replace_top(Block::Pattern);
            }
            _ => {
                if self.at_command() {
                    return Err(self.trouble(range.start, "an operator without a command before it"));
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
                    if let Event::Assign(Assignment { obstacle, .. }) | Event::Unset { obstacle, .. } = event
                    {
                        obstacle.get_or_insert_with(|| "it runs in the background (`&`)".to_owned());
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
                return Err(self.trouble(range.start, "`((`, which shells read in different ways"));
            }
            self.open(Block::Subshell, range.start);
            return Ok(());
        }
        let close = self.tokens.iter().enumerate().skip(self.next).find(|(_, t)| t.kind != Kind::Blank);
        let alone = self.command.is_one_word();
        let function = self.command.name.take().filter(|_| alone);
        match (function, close) {
            (Some(name), Some((index, token))) if self.bytes.get(token.range.clone()) == Some(b")") => {
                let word = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
                if !word || name.starts_with(|c: char| c.is_ascii_digit()) {
                    return Err(self.trouble(range.start, "a function whose name not every shell allows"));
                }
                self.next = index + 1;
                self.functions.insert(name);
                self.command = Command::default();
                self.list.function = true;
                Ok(())
            }
            _ => Err(self.trouble(range.start, "a parenthesis that is not expected here")),
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
                self.command = Command::after_construct();
                Ok(())
            }
            _ => Err(self.trouble(offset, "the end of a construct that was not begun")),
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
                    let line = self.lines.of(range.start);
                    self.events.push(simple::may_set(text, line, "a loop sets it"));
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
            return Err(self.trouble(range.start, "a function without a body in braces"));
        }
        if self.command.closed {
            return Err(self.trouble(range.start, "a word after the end of a construct"));
        }
        self.command.start.get_or_insert(range.start);
        self.command.word(self.bytes, &self.lines, (pieces, tail, range), text)?;
        if text == Some("[[") && self.command.is_test() {
            self.stack.push((Block::Test, range.start));
        }
        Ok(())
    }

    /// Notes variables that an expansion sets: before its command, and again behind it, since assignments of
    /// the same command may be made before or after the expansion (`A=1 B=$((A=2))`).
    fn expansions(&mut self, range: &Range<usize>) {
        let text = self.bytes.get(range.clone()).unwrap_or_default();
        let line = self.lines.of(range.start);
        self.events.extend(simple::expansions(text, line));
        self.late.extend(simple::expansions(text, line));
    }
}
