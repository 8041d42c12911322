//! `proctor doctor`: shows how well commands can be isolated on this machine, and how to remove obstacles.

use std::path::{Path, PathBuf};

use crate::cli::arguments::DoctorOptions;
use crate::cli::commands::service;
use crate::cli::installation::advice;
use crate::cli::style::{Line, Style, Tone};
use crate::cli::{environment, render};
use proctor_app::doctor::{DoctorFindings, InstalledService, examine_machine};
use proctor_app::{CommandError, Environment};
use proctor_model::{CommandExit, IsolationLevel, NetworkAccess};
use proctor_sandbox::process::counts_processes_by_namespace;

/// The AppArmor profile in proctor's sources.
const APPARMOR_PROFILE: &str = include_str!("../../../systemd/apparmor/proctor");

/// The beginning of the line in the AppArmor profile that lists the paths of the program `proctor`.
const PROFILE_PATHS: &str = "@{proctor} = ";

pub(crate) fn execute(options: &DoctorOptions, environment: &Environment) -> Result<CommandExit, CommandError> {
    if options.apparmor_profile {
        render::text(&apparmor_profile(&own_path(environment)));
        return Ok(CommandExit::Proceed);
    }
    let service = service::installed(environment).map(|facts| InstalledService {
        active: facts.manager.units.as_ref().is_ok_and(|units| units.service.is_active()),
        lingers: facts.manager.lingers,
        systemd: facts.manager.systemd,
        findings: advice::findings(&facts),
    });
    let facts = examine_machine(environment, options.place.path(), service)?;
    let findings = DoctorFindings::of(&facts);
    if options.json {
        render::document(&findings);
    } else {
        lines(&findings, environment::style(environment)).iter().for_each(render::line);
    }
    Ok(findings.exit())
}

/// Returns the path of this program with all links resolved. AppArmor profiles need such a path.
fn own_path(environment: &Environment) -> PathBuf {
    let executable: &Path = environment.executable();
    executable.canonicalize().unwrap_or_else(|_| executable.to_owned())
}

fn lines(found: &DoctorFindings<'_>, style: Style) -> Vec<Line> {
    let mut lines = vec![match (found.level, found.mode) {
        (_, "off") => "isolation: none, `sandbox.mode` is \"off\"; what could be had:".into(),
        (Some(level), _) => Line::from("isolation: ").and(style.paint(Tone::Strong, level.word())),
        (None, _) => Line::from("isolation: ").and(style.paint(Tone::Bad, "none")).and(", no command can be started"),
    }];
    for level in &found.levels {
        let (mark, tone) = if level.reached { ("✓", Tone::Good) } else { ("-", Tone::Doubtful) };
        let why = level.obstacle.as_deref().unwrap_or_else(|| level_means(level.level));
        lines.push(Line::from("  ").and(style.paint(tone, mark)).and(format!(" {:<14} {why}", level.level.word())));
    }
    let word = |can: bool, instead: &'static str| if can { "enforced" } else { instead };
    let is_counted = found.level == Some(IsolationLevel::Namespace) && counts_processes_by_namespace();
    let instead = if is_counted { "counted by namespace" } else { "not enforced" };
    let (memory, processes) = (word(found.limits.memory, "summed every 200 ms"), word(found.limits.processes, instead));
    let why = found.limits.obstacle.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
    lines.push(format!("limits: memory {memory}, processes {processes}{why}").into());
    let scopes = if found.landlock_scopes { "closed" } else { "open (Linux 6.12 can close them)" };
    lines.push(format!("signals to others, abstract sockets: {scopes}").into());
    let filtered =
        found.system_call_filter_obstacle.map_or("can be filtered".to_owned(), |why| format!("cannot be filtered: {why}"));
    lines.push(format!("system calls: {filtered}").into());
    lines.push(network_line(found).into());
    lines.push(format!("store: {}, hidden from every command", found.store).into());
    // Only namespaces can give an action its own copy of a directory. Without them, all actions share the real
    // directory.
    let private = if found.level == Some(IsolationLevel::Namespace) { "own copy" } else { "shared" };
    for (name, paths) in
        [("checks see", &found.visible), ("hidden", &found.hidden), (private, &found.private), ("writable", &found.writable)]
    {
        if !paths.is_empty() {
            lines.push(format!("{name}: {}", paths.join(", ")).into());
        }
    }
    lines.extend(found.shown.iter().cloned().map(Line::from));
    if let Some(service) = &found.service {
        let version = service.systemd.map_or_else(|| "unknown".to_owned(), |version| version.to_string());
        let runs = if service.active { "runs" } else { "does not run" };
        let stays = if service.lingers { "goes on when you log out" } else { "ends when you log out" };
        lines.push(format!("service: {runs}, {stays} · systemd {version}").into());
    }
    for remedy in &found.remedies {
        lines.push(format!("{}:", remedy.problem).into());
        lines.push(Line::from("  ").and(style.paint(Tone::Strong, &remedy.command)));
    }
    for finding in &found.findings {
        lines.push(format!("{}:", finding.problem).into());
        lines.push(Line::from("  ").and(style.paint(Tone::Strong, &finding.advice)));
    }
    lines.push(match found.remedies.len() + found.findings.len() {
        0 => style.paint(Tone::Good, "all is well"),
        1 => "1 thing to mend".into(),
        things => format!("{things} things to mend").into(),
    });
    lines
}

fn network_line(found: &DoctorFindings<'_>) -> String {
    let means = match (&found.network_obstacle, found.network == NetworkAccess::Open.word()) {
        (None, true) => "that of the machine; `network = \"loopback\"` in `[sandbox]` gives each run one of its own".to_owned(),
        (None, false) => "one of each run's own".to_owned(),
        (Some(why), true) => format!("that of the machine; none of a run's own can be made: {why}"),
        (Some(why), false) => format!("asked for, and not closed: {why}"),
    };
    format!("network of checks: {}, {means}", found.network)
}

/// Returns an AppArmor profile that allows the program at this path to create user namespaces.
pub(crate) fn apparmor_profile(executable: &Path) -> String {
    let own = executable.to_string_lossy();
    let is_named = |line: &str| line.split_whitespace().any(|path| path == own);
    let lines = APPARMOR_PROFILE.lines().map(|line| match line.strip_prefix(PROFILE_PATHS) {
        Some(paths) if !is_named(paths) => format!("{PROFILE_PATHS}\"{own}\" {paths}\n"),
        Some(_) | None => format!("{line}\n"),
    });
    lines.collect()
}

fn level_means(level: IsolationLevel) -> &'static str {
    match level {
        IsolationLevel::Namespace => "a file system, processes and shared memory of its own",
        IsolationLevel::Cgroup => "files by Landlock, ended as a whole by a cgroup",
        IsolationLevel::Landlock => "files by Landlock, ended by a search of /proc",
        IsolationLevel::ProcessGroup => "nothing but that search",
        IsolationLevel::Remote => "what its server says",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_profile_names_the_program_that_prints_it_once() {
        let elsewhere = apparmor_profile(Path::new("/opt/a b/proctor"));
        assert!(elsewhere.contains("@{proctor} = \"/opt/a b/proctor\" /usr/bin/proctor"), "{elsewhere}");
        assert_eq!(apparmor_profile(Path::new("/usr/local/bin/proctor")), APPARMOR_PROFILE);
    }
}
