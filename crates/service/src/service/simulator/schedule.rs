//! A schedule: how the projects are set up, and what people, programs and accidents do to them, and when.

use super::draw::Draw;

/// What happens to a project. Times are in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operation {
    /// A file gets content that no file ever had.
    Save {
        file: usize,
        way: SaveWay,
    },
    /// A file is written again with the content that it has.
    Touch {
        file: usize,
    },
    /// A file gets back the content that it had before it was last changed.
    Restore {
        file: usize,
    },
    Remove {
        file: usize,
    },
    /// A file is changed and no event says so, as by a shared memory mapping.
    SaveSilently {
        file: usize,
    },
    /// A program appends to a file again and again.
    KeepWriting {
        file: usize,
        every: u64,
        times: u64,
    },
    /// A command of git changes many files, and holds its lock meanwhile.
    Checkout {
        files: usize,
        lasts: u64,
    },
    /// The kernel's queue of events overflows: what happens from now on is reported by one hint only.
    Overflow,
    /// The root is moved away, and comes back.
    LoseRoot {
        lasts: u64,
    },
    /// `proctor.toml` asks for what a person has to approve.
    AskForMore,
    /// A person approves whatever the plan is now.
    Approve,
    BreakConfiguration,
    MendConfiguration,
    /// A process of proctor dies in the run under way.
    KillHelper,
    /// The disk of the store is full for a while.
    FillDisk {
        lasts: u64,
    },
    /// A client asks how the project stands, and hangs up after `patience`.
    Ask {
        is_wait: bool,
        is_quick: bool,
        timeout: u64,
        patience: u64,
    },
    /// A client asks for a run.
    Request {
        selection: Requested,
        patience: u64,
    },
    /// SIGHUP.
    Reload,
    /// The service ends as at an upgrade, and is started again.
    Restart,
    /// The service is killed, and is started again.
    Kill,
}

/// How a program saves a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SaveWay {
    /// The file is emptied, and is whole after so many milliseconds.
    InPlace(u64),
    ByRename,
    /// The old file is put aside first, and the new one comes after so many milliseconds.
    OldPutAside(u64),
}

/// Which checks a client asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Requested {
    Every,
    Missing,
    First,
    Unknown,
}

/// What the checks of a project write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Writes {
    Nothing,
    /// A file that is copied to the project after the run, always with the same content.
    CopiesSame,
    /// A file that is copied to the project after the run, with other content each time.
    CopiesOther,
    /// A file of the project itself, with the same content each time.
    InPlaceSame,
    /// A file of the project itself, with other content each time.
    InPlaceOther,
}

/// How a project is set up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shape {
    /// Whether a save waits for the end of the run.
    pub(super) is_queue: bool,
    /// Whether the checks run in the project itself and not in a copy of the tree.
    pub(super) is_in_place: bool,
    /// Whether the checks may take results of earlier runs.
    pub(super) is_reusing: bool,
    /// Whether there is a second check, which only the first file triggers.
    pub(super) has_path_check: bool,
    pub(super) tasks: usize,
    /// How long the checks take.
    pub(super) takes: (u64, u64),
    pub(super) writes: Writes,
    /// The longest time from a change to its hint.
    pub(super) hint_delay: u64,
    /// The longest time that the tree is read.
    pub(super) look_takes: u64,
}

/// One operation: the pause before it, the number of its project, and what happens.
pub(super) type Step = (u64, usize, Operation);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Schedule {
    /// Decides delays and durations too.
    pub(super) seed: u64,
    pub(super) shapes: Vec<Shape>,
    /// How many runs the machine carries out at the same time.
    pub(super) runs: usize,
    pub(super) steps: Vec<Step>,
}

/// The files of a project. The first is the one that the second check is triggered by.
pub(super) const FILES: usize = 5;

impl Schedule {
    /// Returns the schedule of a seed.
    pub(super) fn of(seed: u64) -> Self {
        let mut draw = Draw::new(seed);
        let projects = draw.pick(&[1, 1, 1, 2, 3]);
        let shapes = (0..projects).map(|_| Shape::draw(&mut draw)).collect();
        let length = draw.pick(&[2, 4, 6, 9, 14]);
        let kinds: Vec<Kind> = (0..draw.between(1, 4)).map(|_| draw.pick(KINDS)).collect();
        let pauses = draw.pick(&[&[0, 1, 5, 20][..], &[0, 10, 30, 100, 400], &[1, 50, 600, 1_500, 4_000]]);
        let steps = (0..length).map(|_| {
            let kind = if draw.chance(40) { Kind::Save } else { draw.pick(&kinds) };
            let (most, project) = (draw.pick(pauses), usize::try_from(draw.below(projects)).unwrap_or_default());
            (draw.between(0, most), project, kind.draw(&mut draw))
        });
        let steps = steps.collect();
        Self { seed, shapes, runs: draw.pick(&[1, 2, 8]), steps }
    }
}

impl Shape {
    pub(super) const PLAIN: Self = Self {
        is_queue: false,
        is_in_place: false,
        is_reusing: false,
        has_path_check: false,
        tasks: 1,
        takes: (100, 100),
        writes: Writes::Nothing,
        hint_delay: 1,
        look_takes: 1,
    };

    fn draw(draw: &mut Draw) -> Self {
        let is_in_place = draw.chance(35);
        let least = draw.pick(&[1, 20, 200]);
        let writes = match draw.below(10) {
            0 if is_in_place => Writes::InPlaceSame,
            1 if is_in_place => Writes::InPlaceOther,
            2 => Writes::CopiesSame,
            3 => Writes::CopiesOther,
            _ => Writes::Nothing,
        };
        Self {
            is_queue: draw.chance(25),
            is_in_place,
            is_reusing: draw.chance(30),
            has_path_check: draw.chance(25),
            // Two tasks that write files of the project itself take turns for ever.
            tasks: if matches!(writes, Writes::InPlaceSame | Writes::InPlaceOther) { 1 } else { draw.pick(&[1, 1, 2]) },
            takes: (least, draw.pick(&[30, 300, 3_000]).max(least)),
            writes,
            // Whoever hears of a run's own writes only when the run is long over takes them for saves, and runs again.
            hint_delay: match writes {
                Writes::InPlaceSame | Writes::InPlaceOther => draw.pick(&[0, 3]),
                Writes::Nothing | Writes::CopiesSame | Writes::CopiesOther => draw.pick(&[0, 3, 40, 400]),
            },
            look_takes: draw.pick(&[1, 10, 100]),
        }
    }
}

/// A kind of operation, without its details.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Save,
    Touch,
    Remove,
    Silent,
    Busy,
    Git,
    Overflow,
    Root,
    Person,
    Configuration,
    Helper,
    Disk,
    Ask,
    Request,
    Service,
}

const KINDS: &[Kind] = &[
    Kind::Save,
    Kind::Touch,
    Kind::Remove,
    Kind::Silent,
    Kind::Busy,
    Kind::Git,
    Kind::Overflow,
    Kind::Root,
    Kind::Person,
    Kind::Configuration,
    Kind::Helper,
    Kind::Disk,
    Kind::Ask,
    Kind::Ask,
    Kind::Request,
    Kind::Request,
    Kind::Service,
];

impl Kind {
    fn draw(self, draw: &mut Draw) -> Operation {
        let file = usize::try_from(draw.below(FILES as u64)).unwrap_or_default();
        let some = draw.pick(&[0, 1, 30, 700]);
        match self {
            Self::Save if draw.chance(20) => Operation::Restore { file },
            Self::Save => {
                let way =
                    draw.pick(&[SaveWay::InPlace(0), SaveWay::InPlace(some), SaveWay::ByRename, SaveWay::OldPutAside(some)]);
                Operation::Save { file, way }
            }
            Self::Touch => Operation::Touch { file },
            Self::Remove => Operation::Remove { file },
            Self::Silent => Operation::SaveSilently { file },
            Self::Busy => Operation::KeepWriting { file, every: draw.pick(&[7, 50, 300]), times: draw.between(3, 12) },
            Self::Git => Operation::Checkout { files: draw.pick(&[1, 3, 5]), lasts: draw.pick(&[5, 100, 7_000]) },
            Self::Overflow => Operation::Overflow,
            Self::Root => Operation::LoseRoot { lasts: draw.pick(&[10, 1_000]) },
            Self::Person => draw.pick(&[Operation::AskForMore, Operation::Approve, Operation::Approve]),
            Self::Configuration => draw.pick(&[Operation::BreakConfiguration, Operation::MendConfiguration]),
            Self::Helper => Operation::KillHelper,
            Self::Disk => Operation::FillDisk { lasts: draw.pick(&[100, 5_000]) },
            Self::Ask => {
                let (timeout, patience) = (draw.pick(&[50, 2_000, 60_000]), draw.pick(&[10, 300, u64::MAX, u64::MAX]));
                Operation::Ask { is_wait: draw.chance(60), is_quick: draw.chance(50), timeout, patience }
            }
            Self::Request => {
                let selection = draw.pick(&[Requested::Every, Requested::Missing, Requested::First, Requested::Unknown]);
                Operation::Request { selection, patience: draw.pick(&[5, u64::MAX, u64::MAX]) }
            }
            Self::Service => draw.pick(&[Operation::Reload, Operation::Restart, Operation::Kill]),
        }
    }
}
