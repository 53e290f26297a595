/* json.h - just enough JSON to check a report: is it valid, and what does a key hold. */
#ifndef JSON_H
#define JSON_H

#include <stdlib.h>
#include <string.h>

static const char *json_skip(const char *at) { return at + strspn(at, " \t\r\n"); }

static const char *json_string(const char *at) {
    if (*at++ != '"') return NULL;
    for (; *at != '"'; at++) {
        if ((unsigned char)*at < 0x20) return NULL;
        if (*at == '\\' && *++at == '\0') return NULL;
    }
    return at + 1;
}

static const char *json_word(const char *at, const char *word) {
    size_t length = strlen(word);
    return strncmp(at, word, length) == 0 ? at + length : NULL;
}

/* Where the value that begins at `at` ends, or NULL when there is none. */
static const char *json_value(const char *at, int depth) {
    at = json_skip(at);
    if (depth > 64) return NULL;
    if (*at == '"') return json_string(at);
    if (*at == 't') return json_word(at, "true");
    if (*at == 'f') return json_word(at, "false");
    if (*at == 'n') return json_word(at, "null");
    if (*at != '{' && *at != '[') {
        char *end;
        strtod(at, &end);
        return end != at && (*at == '-' || (*at >= '0' && *at <= '9')) ? end : NULL;
    }
    char close = *at == '{' ? '}' : ']';
    at = json_skip(at + 1);
    if (*at == close) return at + 1;
    for (;;) {
        if (close == '}') {
            if ((at = json_string(json_skip(at))) == NULL || *(at = json_skip(at)) != ':') return NULL;
            at++;
        }
        if ((at = json_value(at, depth + 1)) == NULL) return NULL;
        at = json_skip(at);
        if (*at == close) return at + 1;
        if (*at++ != ',') return NULL;
    }
}

/* Whether the text is one JSON value and nothing else. */
static inline int json_valid(const char *text) {
    const char *end = json_value(text, 0);
    return end != NULL && *json_skip(end) == '\0';
}

/* What follows the first `"key":`, or NULL. */
static inline const char *json_after(const char *text, const char *key) {
    size_t length = strlen(key);
    for (; (text = strstr(text, key)) != NULL; text += length) {
        const char *after = text + length;
        if (text[-1] == '"' && *after == '"' && *(after = json_skip(after + 1)) == ':') return json_skip(after + 1);
    }
    return NULL;
}

#endif
