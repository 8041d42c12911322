//! Colours in output for people. The terminal and the variables `NO_COLOR` and `CLICOLOR_FORCE` decide whether colours
//! are used (G6).

/// Whether output is coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    Coloured,
    Plain,
}

/// The meaning of a piece of text, which decides its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    Good,
    Bad,
    Doubtful,
    Quiet,
    Strong,
}

impl Style {
    /// Decides whether output is coloured. `NO_COLOR` comes first, then `CLICOLOR_FORCE`, then whether the output is a terminal.
    pub(crate) fn decide(no_color: bool, force: bool, is_terminal: bool) -> Self {
        if !no_color && (force || is_terminal) { Self::Coloured } else { Self::Plain }
    }

    /// Returns the text in the colour of a tone.
    pub(crate) fn paint(self, tone: Tone, text: &str) -> String {
        let code = match tone {
            Tone::Good => "32",
            Tone::Bad => "31",
            Tone::Doubtful => "33",
            Tone::Quiet => "2",
            Tone::Strong => "1",
        };
        match self {
            Self::Coloured => format!("\x1b[{code}m{text}\x1b[0m"),
            Self::Plain => text.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_color_wins_over_everything() {
        assert_eq!(Style::decide(true, true, true), Style::Plain);
        assert_eq!(Style::decide(false, true, false), Style::Coloured);
        assert_eq!(Style::decide(false, false, true), Style::Coloured);
        assert_eq!(Style::decide(false, false, false), Style::Plain);
    }
}
