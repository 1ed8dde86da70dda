//! Reserved words: what they open and close.

use super::super::Trouble;
use super::super::simple::Command;
use super::{Block, Parser};

impl Parser<'_> {
    /// Handles a reserved word at command position; false when it is none.
    pub(super) fn reserved(&mut self, text: &str, offset: usize) -> Result<bool, Trouble> {
        match text {
            "fi" => self.close(Block::If, offset)?,
            "done" => self.close(Block::Loop, offset)?,
            "esac" => self.close(Block::Branch, offset)?,
            "}" => self.close(Block::Group, offset)?,
            "then" | "else" | "elif" if self.top() == Some(Block::If) => self.command = Command::default(),
            "do" if self.top() == Some(Block::Loop) => self.command = Command::default(),
            "then" | "else" | "elif" | "do" => {
                return Err(self.trouble(offset, format!("`{text}` that belongs to nothing")));
            }
            _ if self.command.closed => return Ok(false),
            "if" => self.open(Block::If, offset),
            "while" | "until" => self.open(Block::Loop, offset),
            "for" | "select" => self.open(Block::LoopHead, offset),
            "case" => self.open(Block::CaseHead, offset),
            "{" => self.open(Block::Group, offset),
            "!" => {}
            "function" => return Err(self.trouble(offset, "`function`, which not every shell knows")),
            _ => return Ok(false),
        }
        Ok(true)
    }
}
