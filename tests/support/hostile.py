"""Names of arms that would be markup, if anything took them for it."""

NAMES = [
    "<img src=x onerror=\"alert('img')\">",
    "</td></tr></table><script>alert('script')</script>",
    "<script src=https://example.org/x.js></script>",
    "\"'><svg/onload=alert(1)>",
    "javascript:alert(1)",
    "&lt;b&gt; &amp; ${7*7} {{7*7}} %3Cscript%3E",
    "<style>*{display:none}</style>",
    "abc עברית def",
    "naïve 数据 🧪 \u0301",
    '=HYPERLINK("https://example.org")',
    "constructor",
    "long " + "x" * 3000,
]
