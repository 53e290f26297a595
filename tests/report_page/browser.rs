//! Chromium as a user has it before them: its `DevTools` protocol over two pipes.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use tempfile::TempDir;

/// A browser with one tab. What it cannot do panics with what it said.
pub struct Browser {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    /// The tab, once there is one.
    session: Option<String>,
    sent: u64,
    /// What the page threw or wrote as an error.
    errors: Vec<String>,
    /// What it loaded besides itself.
    requests: Vec<String>,
    is_loaded: bool,
    /// Ends with the browser.
    _profile: TempDir,
}

fn program() -> PathBuf {
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let mut places = std::env::split_paths(&paths).flat_map(|directory| names.map(|name| directory.join(name)));
    places.find(|path| path.is_file()).expect("Chromium is installed")
}

impl Browser {
    /// Starts it.
    pub fn start() -> Browser {
        let profile = TempDir::new().unwrap();
        let mut data = std::ffi::OsString::from("--user-data-dir=");
        data.push(profile.path());
        // It reads commands from descriptor 3 and answers on 4.
        let mut child = Command::new("sh")
            .args(["-c", "exec \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1", "sh"])
            .arg(program())
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
            .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
            .arg("--remote-debugging-pipe")
            .arg(data)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (to, from) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        let (errors, requests) = (Vec::new(), Vec::new());
        let mut browser =
            Browser { child, to, from, session: None, sent: 0, errors, requests, is_loaded: false, _profile: profile };
        let tab = browser.send("Target.createTarget", &json!({"url": "about:blank"}));
        let attach = json!({"targetId": tab["targetId"], "flatten": true});
        let session = browser.send("Target.attachToTarget", &attach);
        browser.session = Some(session["sessionId"].as_str().unwrap().to_owned());
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.send(&format!("{domain}.enable"), &json!({}));
        }
        browser
    }

    /// Has a command done; answers its result.
    pub fn send(&mut self, method: &str, parameters: &Value) -> Value {
        self.sent += 1;
        let id = self.sent;
        let mut message = json!({"id": id, "method": method, "params": parameters});
        if let Some(session) = &self.session {
            message["sessionId"] = session.as_str().into();
        }
        self.to.write_all(format!("{message}\0").as_bytes()).unwrap();
        self.to.flush().unwrap();
        loop {
            let answer = self.receive();
            if answer["id"] == id {
                assert!(answer.get("error").is_none(), "{method}: {answer}");
                return answer["result"].clone();
            }
        }
    }

    /// The next message; events are noted.
    fn receive(&mut self) -> Value {
        let mut message = Vec::new();
        self.from.read_until(0, &mut message).unwrap();
        assert_eq!(message.pop(), Some(0), "the browser ended");
        let message: Value = serde_json::from_slice(&message).unwrap();
        let told = &message["params"];
        match message["method"].as_str().unwrap_or_default() {
            "Page.loadEventFired" => self.is_loaded = true,
            "Runtime.exceptionThrown" => self.errors.push(told["exceptionDetails"].to_string()),
            "Log.entryAdded" => self.errors.push(told["entry"].to_string()),
            "Runtime.consoleAPICalled" => self.errors.push(told["args"].to_string()),
            "Network.requestWillBeSent" => self.requests.push(told["request"]["url"].to_string()),
            _ => {}
        }
        message
    }

    /// A screen of this size with this choice of colours.
    pub fn screen(&mut self, width: u32, height: u32, scheme: &str) {
        let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500});
        self.send("Emulation.setDeviceMetricsOverride", &size);
        self.media("screen", scheme);
    }

    /// The page as it is on paper (`print`) or a screen.
    pub fn media(&mut self, media: &str, scheme: &str) {
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        self.send("Emulation.setEmulatedMedia", &json!({"media": media, "features": features}));
    }

    /// Whether pages may run scripts.
    pub fn allow_scripts(&mut self, allowed: bool) {
        self.send("Emulation.setScriptExecutionDisabled", &json!({"value": !allowed}));
    }

    /// Opens a file and waits until it is loaded.
    pub fn open(&mut self, page: &Path) {
        (self.is_loaded, self.errors, self.requests) = (false, Vec::new(), Vec::new());
        self.send("Page.navigate", &json!({"url": format!("file://{}", page.display())}));
        while !self.is_loaded {
            self.receive();
        }
    }

    /// The value of an expression in the page.
    pub fn value(&mut self, expression: &str) -> Value {
        let wanted = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let answer = self.send("Runtime.evaluate", &wanted);
        assert!(answer.get("exceptionDetails").is_none(), "{expression}: {answer}");
        answer["result"]["value"].clone()
    }

    /// Presses a key and lets it go: `Tab`, `Enter`, ` `, or a letter.
    pub fn press(&mut self, key: &str) {
        let (code, number, text) = match key {
            "Tab" => ("Tab", 9, ""),
            "Enter" => ("Enter", 13, "\r"),
            " " => ("Space", 32, " "),
            letter => ("", letter.bytes().next().map_or(0, u32::from), letter),
        };
        let down = json!({"type": "keyDown", "key": key, "code": code, "windowsVirtualKeyCode": number, "text": text});
        self.send("Input.dispatchKeyEvent", &down);
        let up = json!({"type": "keyUp", "key": key, "code": code, "windowsVirtualKeyCode": number});
        self.send("Input.dispatchKeyEvent", &up);
    }

    /// What the page threw or complained of since it was opened.
    pub fn errors(&self) -> &[String] {
        &self.errors
    }

    /// Everything that was asked for since the page was opened, itself included.
    pub fn requests(&self) -> &[String] {
        &self.requests
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // A browser that is gone already is as good.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
