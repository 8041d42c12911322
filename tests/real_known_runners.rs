//! Real RSpec, PHPUnit, CTest, Maven and Gradle of the system, which proctor does not read: each is judged by the report that its row in
//! `known_runners` names, and is no success where it ran nothing. `.ci/wide` installs them; a test ends without having tested anything
//! where its program is missing.

use std::path::Path;

use crate::common::Project;

const RSPEC: &str = "RSpec.describe 'shop' do\n  it('adds') { expect(1 + 1).to eq 2 }\n  MORE\nend\n";
const PHPUNIT: &str = "<?php\nclass ShopTest extends PHPUnit\\Framework\\TestCase {\n  \
                       function testAdds() { $this->assertSame(2, 1 + 1); }\n  function testMore() { MORE }\n}\n";
const CMAKE: &str = "cmake_minimum_required(VERSION 3.10)\nproject(shop NONE)\nenable_testing()\n\
                     add_test(NAME adds COMMAND true)\nMORE\n";
const JUNIT: &str = "import static org.junit.Assert.assertEquals;\nimport org.junit.Test;\npublic class ShopTest {\n  \
                     @Test public void adds() { assertEquals(2, 1 + 1); }\n  @Test public void more() { MORE }\n}\n";
const POM: &str = "<project xmlns=\"http://maven.apache.org/POM/4.0.0\"><modelVersion>4.0.0</modelVersion>\
    <groupId>shop</groupId><artifactId>shop</artifactId><version>1</version>\
    <properties><maven.compiler.source>17</maven.compiler.source><maven.compiler.target>17</maven.compiler.target>\
    <project.build.sourceEncoding>UTF-8</project.build.sourceEncoding></properties>\
    <dependencies><dependency><groupId>junit</groupId><artifactId>junit</artifactId><version>4.x</version><scope>test</scope>\
    </dependency></dependencies></project>\n";
const GRADLE: &str = "apply plugin: 'java'\nrepositories { maven { url '/usr/share/maven-repo' } }\n\
                      dependencies { testCompile 'junit:junit:4.x' }\n";

/// One runner: its program, the check, the files around the tests, the file of tests, and texts for `MORE` in it with the category of a run.
struct Runner<'r> {
    program: &'r str,
    command: &'r str,
    report: &'r str,
    around: &'r [(&'r str, &'r str)],
    tests: (&'r str, &'r str),
    runs: &'r [(&'r str, &'r str, &'r str)],
}

fn is_installed(program: &str) -> bool {
    ["/usr/bin", "/usr/local/bin"].iter().any(|directory| Path::new(directory).join(program).is_file())
}

/// Each run has further words of the command, the text for `MORE`, and the category.
fn expect_runs(runner: &Runner<'_>) {
    if !is_installed(runner.program) {
        return;
    }
    for (words, more, expected) in runner.runs {
        let toml = format!(
            "[[check]]\nname = \"unit\"\ncommand = \"{}\"\nreport = {{ file = \"{}\", format = \"junit\" }}\ntimeout = \"5m\"\n",
            runner.command.replace("WORDS", words).trim_end(),
            runner.report
        );
        let mut project = Project::new().toml(&toml).file(".gitignore", "tmp/\nbuild/\ntarget/\n.gradle/\nevidence\n");
        for (path, text) in runner.around {
            project = project.file(path, text);
        }
        let (path, text) = runner.tests;
        let project = if *more == "NO FILE" { project } else { project.file(path, &text.replace("MORE", more)) };
        let output = project.proctor(["run"]).any_status();
        let report = output.report();
        let code = &report["stepExecution"]["results"][0]["classification"]["code"];
        assert_eq!(
            (code.as_str(), output.status == 0),
            (Some(*expected), *expected == "TESTS_PASSED"),
            "{words} {more}: {}",
            output.stdout
        );
    }
}

#[test]
#[ignore = "wide tier"]
fn rspec_is_judged_by_its_report() {
    expect_runs(&Runner {
        program: "rspec",
        command: "rspec --format progress --format RspecJunitFormatter --out tmp/rspec.xml WORDS",
        report: "tmp/rspec.xml",
        around: &[("spec/README", "")],
        tests: ("spec/shop_spec.rb", RSPEC),
        runs: &[
            ("", "", "TESTS_PASSED"),
            ("", "it('more') { expect(1).to eq 2 }", "TESTS_FAILED"),
            ("--failure-exit-code 0", "it('more') { expect(1).to eq 2 }", "INCONSISTENT"),
            ("", "NO FILE", "NO_TESTS_COLLECTED"),
            ("--tag nowhere", "", "NO_TESTS_COLLECTED"),
            ("--dry-run", "", "NOTHING_CHECKED"),
            ("", "it('ends') { exit(0) }", "INCONSISTENT"),
            ("", "it('ends') { exit!(0) }", "REPORT_UNREADABLE"),
        ],
    });
}

#[test]
#[ignore = "wide tier"]
fn phpunit_is_judged_by_its_report() {
    expect_runs(&Runner {
        program: "phpunit",
        command: "phpunit --log-junit build/junit.xml tests WORDS",
        report: "build/junit.xml",
        around: &[("tests/README", "")],
        tests: ("tests/ShopTest.php", PHPUNIT),
        runs: &[
            ("", "$this->assertTrue(true);", "TESTS_PASSED"),
            ("", "$this->assertTrue(false);", "TESTS_FAILED"),
            ("", "NO FILE", "NO_TESTS_COLLECTED"),
            ("--filter zz", "$this->assertTrue(true);", "NO_TESTS_COLLECTED"),
            ("", "exit(0);", "REPORT_UNREADABLE"),
        ],
    });
}

#[test]
#[ignore = "wide tier"]
fn ctest_is_judged_by_its_report() {
    expect_runs(&Runner {
        program: "ctest",
        command: "sh -c 'cmake -S . -B build && ctest --test-dir build --output-junit junit.xml WORDS'",
        report: "build/junit.xml",
        around: &[],
        tests: ("CMakeLists.txt", CMAKE),
        runs: &[
            ("", "", "TESTS_PASSED"),
            ("", "add_test(NAME more COMMAND false)", "TESTS_FAILED"),
            ("-R zz", "", "NO_TESTS_COLLECTED"),
            ("-N", "", "NO_TESTS_COLLECTED"),
            ("", "set_tests_properties(adds PROPERTIES DISABLED TRUE)", "NO_TESTS_EXECUTED"),
        ],
    });
}

#[test]
#[ignore = "wide tier"]
fn maven_is_judged_by_its_reports() {
    if !Path::new("/usr/share/maven-repo/org/apache/maven/surefire/surefire-junit4").is_dir() {
        return;
    }
    expect_runs(&Runner {
        program: "mvn",
        command: "mvn -B -o -Dmaven.repo.local=/usr/share/maven-repo test WORDS",
        report: "target/surefire-reports/TEST-*.xml",
        around: &[("pom.xml", POM)],
        tests: ("src/test/java/ShopTest.java", JUNIT),
        runs: &[
            ("", "", "TESTS_PASSED"),
            ("", "assertEquals(200, 404);", "TESTS_FAILED"),
            ("-Dmaven.test.failure.ignore=true", "assertEquals(200, 404);", "INCONSISTENT"),
            ("", "NO FILE", "REPORT_MISSING"),
            ("-DskipTests", "", "REPORT_MISSING"),
        ],
    });
}

#[test]
#[ignore = "wide tier"]
fn gradle_is_judged_by_its_reports() {
    expect_runs(&Runner {
        program: "gradle",
        command: "gradle --offline --no-daemon --console=plain test WORDS",
        report: "build/test-results/test/*.xml",
        around: &[("build.gradle", GRADLE)],
        tests: ("src/test/java/ShopTest.java", JUNIT),
        runs: &[
            ("", "", "TESTS_PASSED"),
            ("", "assertEquals(200, 404);", "TESTS_FAILED"),
            ("", "NO FILE", "REPORT_MISSING"),
            ("--dry-run", "", "REPORT_MISSING"),
        ],
    });
}
