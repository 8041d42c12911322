//! N0 and N1: the brief, its name, and what must be there before anything is made (B1).

use crate::governance::event::{Answer, Effect, Ending, Event, PauseReason, Transition};
use crate::governance::gate::{Choice, Gate, parse_choice};
use crate::governance::machine::Step;
use crate::governance::name::Slug;
use crate::governance::state::{Basis, Loading, Node, State};
use crate::governance::trail::Kind;
use crate::governance::wording;

pub(super) fn pending(state: &State, loading: Loading) -> Effect {
    match loading {
        Loading::Reading => Effect::ReadBrief,
        Loading::Looking | Loading::LookingAgain => Effect::LookForSlug(state.slug.clone()),
        Loading::Collision => Effect::Ask(wording::collision(&state.slug)),
        Loading::Naming => Effect::Ask(wording::new_slug()),
    }
}

impl Step {
    pub(super) fn load(mut self, loading: Loading, event: Event) -> Transition {
        match (loading, event) {
            (Loading::Reading, Event::BriefRead(text)) if text.trim().is_empty() => {
                let why = format!("the brief `{}` is empty", self.state.brief_name);
                self.end(Ending::Refused(why))
            }
            (Loading::Reading, Event::BriefRead(text)) => {
                self.state.brief = text;
                self.to(Node::LoadBrief(Loading::Looking))
            }
            (Loading::Reading, Event::BriefUnreadable(why)) => self.end(Ending::Refused(why)),
            (Loading::Looking | Loading::LookingAgain, Event::SlugFree) => self.to(Node::Preflight),
            (Loading::Looking, Event::SlugTaken) => self.to(Node::LoadBrief(Loading::Collision)),
            (Loading::LookingAgain, Event::SlugTaken) => {
                let taken = wording::taken(&self.state.slug);
                self.say(taken);
                self.to(Node::LoadBrief(Loading::Naming))
            }
            // Nothing is there yet that could be resumed, and nothing was made.
            (_, Event::Answered(Answer::Nobody)) => self.end(Ending::Paused(PauseReason::Nobody)),
            (Loading::Collision, Event::Answered(Answer::Line(line))) => self.collide(&line),
            (Loading::Naming, Event::Answered(Answer::Line(line))) => self.rename(&line),
            (_, _) => self.go_on(),
        }
    }

    fn collide(mut self, line: &str) -> Transition {
        match parse_choice(Gate::Collision, line) {
            Some(Choice::Resume) => self.end(Ending::Resume),
            Some(Choice::NewName) => self.to(Node::LoadBrief(Loading::Naming)),
            Some(Choice::Abort) => self.end(Ending::NotBegun),
            Some(_) | None => {
                self.say(wording::no_answer(line, Gate::Collision));
                self.go_on()
            }
        }
    }

    fn rename(mut self, line: &str) -> Transition {
        match Slug::try_from(line.trim().to_owned()) {
            Ok(slug) => {
                self.state.slug = slug;
                self.to(Node::LoadBrief(Loading::LookingAgain))
            }
            Err(error) => {
                self.say(error.to_string());
                self.go_on()
            }
        }
    }

    /// N1 steps 1 and 2, then N0 steps 4 to 6: the trail begins when both have passed.
    pub(super) fn prepare(mut self, event: Event) -> Transition {
        if let Event::ToolsMissing(why) = event {
            return self.end(Ending::Refused(why));
        }
        if event != Event::ToolsReady {
            return self.go_on();
        }
        let number = self.next_number();
        let brief = self.state.brief.clone();
        self.keep(number, Kind::Brief, brief);
        self.to(Node::Sandbox)
    }

    /// N1 steps 3 and 4.
    pub(super) fn enter_sandbox(self, event: Event) -> Transition {
        if let Event::StepFailed(why) = event {
            return self.pause(why);
        }
        if event == Event::SandboxReady { self.to(Node::Draft { basis: Basis::Brief }) } else { self.go_on() }
    }
}
