//! Where the parts of a JSON text stand. An edit of somebody's settings changes only the bytes that it is about, so the order of the
//! keys, the indentation and everything else stays.

/// A value of a JSON text, with the offsets between which it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct JsonNode {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) content: JsonContent,
}

/// What a value holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum JsonContent {
    Object(Vec<JsonMember>),
    Array(Vec<JsonNode>),
    Text(String),
    /// A number, `true`, `false` or `null`, as it is written.
    Other(String),
}

/// A key of an object and its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct JsonMember {
    pub(super) key: String,
    /// The offset of the key.
    pub(super) start: usize,
    pub(super) value: JsonNode,
}

impl JsonNode {
    /// Returns the value of a key; `None` if this is no object or has no such key.
    pub(super) fn member(&self, key: &str) -> Option<&JsonMember> {
        match &self.content {
            JsonContent::Object(members) => members.iter().find(|member| member.key == key),
            JsonContent::Array(_) | JsonContent::Text(_) | JsonContent::Other(_) => None,
        }
    }

    /// Returns the elements; none if this is no array.
    pub(super) fn elements(&self) -> &[JsonNode] {
        match &self.content {
            JsonContent::Array(elements) => elements,
            JsonContent::Object(_) | JsonContent::Text(_) | JsonContent::Other(_) => &[],
        }
    }

    /// Returns the text; `None` if this is no string.
    pub(super) fn text(&self) -> Option<&str> {
        match &self.content {
            JsonContent::Text(text) => Some(text),
            JsonContent::Object(_) | JsonContent::Array(_) | JsonContent::Other(_) => None,
        }
    }

    /// Returns the spans of the parts of an object or array, each from the beginning of the key or element to the end of the value.
    pub(super) fn parts(&self) -> Vec<(usize, usize)> {
        match &self.content {
            JsonContent::Object(members) => members.iter().map(|member| (member.start, member.value.end)).collect(),
            JsonContent::Array(elements) => elements.iter().map(|element| (element.start, element.end)).collect(),
            JsonContent::Text(_) | JsonContent::Other(_) => Vec::new(),
        }
    }
}

/// Reads the parts of a text that is valid JSON. The caller has let `serde_json` check that, which also limits the depth.
pub(super) fn read_parts(text: &str) -> JsonNode {
    let mut reader = PartReader { text, at: 0 };
    reader.value()
}

struct PartReader<'a> {
    text: &'a str,
    at: usize,
}

impl PartReader<'_> {
    fn peek(&self) -> u8 {
        self.text.as_bytes().get(self.at).copied().unwrap_or_default()
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), b' ' | b'\t' | b'\r' | b'\n') {
            self.at += 1;
        }
    }

    fn value(&mut self) -> JsonNode {
        self.skip_space();
        let start = self.at;
        let content = match self.peek() {
            b'{' => self.object(),
            b'[' => self.array(),
            b'"' => JsonContent::Text(self.string()),
            _ => self.other(),
        };
        JsonNode { start, end: self.at, content }
    }

    fn object(&mut self) -> JsonContent {
        let mut members = Vec::new();
        self.at += 1;
        loop {
            self.skip_space();
            match self.peek() {
                b'"' => {
                    let start = self.at;
                    let key = self.string();
                    self.skip_space();
                    // The colon.
                    self.at += 1;
                    members.push(JsonMember { key, start, value: self.value() });
                }
                b',' => self.at += 1,
                _ => {
                    self.at += 1;
                    return JsonContent::Object(members);
                }
            }
        }
    }

    fn array(&mut self) -> JsonContent {
        let mut elements = Vec::new();
        self.at += 1;
        loop {
            self.skip_space();
            match self.peek() {
                b']' | 0 => {
                    self.at += 1;
                    return JsonContent::Array(elements);
                }
                b',' => self.at += 1,
                _ => elements.push(self.value()),
            }
        }
    }

    fn string(&mut self) -> String {
        let start = self.at;
        self.at += 1;
        loop {
            match self.peek() {
                b'\\' => self.at += 2,
                b'"' | 0 => break,
                _ => self.at += 1,
            }
        }
        self.at += 1;
        let written = self.text.get(start..self.at).unwrap_or_default();
        serde_json::from_str(written).unwrap_or_default()
    }

    fn other(&mut self) -> JsonContent {
        let start = self.at;
        while !matches!(self.peek(), b',' | b']' | b'}' | b' ' | b'\t' | b'\r' | b'\n' | 0) {
            self.at += 1;
        }
        // A character that no value begins with would be read for ever; valid JSON has none.
        if self.at == start {
            self.at += 1;
        }
        JsonContent::Other(self.text.get(start..self.at).unwrap_or_default().to_owned())
    }
}
