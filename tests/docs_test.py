#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The manual against the code: links, figures, snippets, pages, headers, docstrings."""

import contextlib
import inspect
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
from pathlib import Path

import gnuradio
import yaml
from gnuradio import cufilter
from gnuradio.cufilter import cufilter_python, iir, pfb

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"),
                *(ROOT / "apps").rglob("*.md")])
BLOCK_PAGES = sorted((ROOT / "docs/blocks").glob("*.md"))
LARGEST_FIGURE = 80000  # bytes


def name_of(path):
    return str(path.relative_to(ROOT))


def without_code(text):
    return re.sub(r"^( {4}[^\n]*|```.*?^```)$", "", text, flags=re.M | re.S)


def parameters(signature):
    """Names from pybind11's "f(self: a.b, x: List[int] = [1, 2], **kwargs) -> None"."""
    inner = signature[signature.index("(") + 1:signature.rindex(")")]
    names, depth, start = [], 0, 0
    for i, c in enumerate(inner + ","):
        depth += (c in "([{") - (c in ")]}")
        if c == "," and depth == 0:
            names.append(re.split("[:=]", inner[start:i])[0].strip())
            start = i + 1
    return [n for n in names if n not in ("self", "") and not n.startswith("*")]


def documented(thing):
    """(text, parameters) of a function of Python's or of pybind11's."""
    text = inspect.getdoc(thing) or ""
    if inspect.isfunction(thing):
        names = list(inspect.signature(thing).parameters)
        return text, [n for n in names if n != "self"]
    first, _, rest = text.partition("\n")
    return rest, parameters(first) if "(" in first else []


def own(cls):
    """Public methods that a class has of its own, or of this module's classes."""
    mine = [c for c in cls.__mro__ if c.__module__.startswith("gnuradio.cufilter")]
    return {n: f for c in reversed(mine) for n, f in vars(c).items()
            if not n.startswith("_") and callable(getattr(cls, n))}


def blocks():
    found = {n: b for n, b in vars(cufilter_python).items()
             if hasattr(b, "to_basic_block")}
    return {**found, "pfb.channelizer_ccf": pfb.channelizer_ccf}


def public():
    """(module, name, thing) of all that this package adds to gnuradio.filter."""
    for module in (cufilter, iir, pfb):
        for name, thing in vars(module).items():
            home = getattr(thing, "__module__", None) or ""
            if not name.startswith("_") and home.startswith("gnuradio.cufilter"):
                yield module, name, thing


def named_in(heading):
    """"fft_filter_ccc, _ccf and _fff" names three blocks."""
    names = []
    for word in re.findall(r"[\w.]+", heading):
        if word.startswith("_"):
            word = re.sub("_[a-z]+$", word, names[-1])
        names.append(word)
    return [n for n in names if n != "and"]


def names_of(page):
    return named_in(page.read_text().split("\n")[0])


class Manual(unittest.TestCase):
    def setUp(self):
        self.faults = []

    def tearDown(self):
        self.assertFalse(self.faults, "\n" + "\n".join(map(str, self.faults)))

    def demand(self, condition, *fault):
        if not condition:
            self.faults.append(": ".join(map(str, fault)))


class Pages(Manual):
    def test_links_and_figures_exist(self):
        for page in PAGES:
            for target in re.findall(r"\]\(([^)\s]+)\)", without_code(page.read_text())):
                if "://" in target:
                    continue
                file, _, anchor = target.partition("#")
                path = (page.parent / file).resolve() if file else page
                self.demand(path.exists(), name_of(page), target)
                if anchor and path.exists():
                    heads = re.findall(r"^#+ (.*)$", path.read_text(), re.M)
                    anchors = [re.sub(r"[^\w -]", "", h).lower().replace(" ", "-")
                               for h in heads]
                    self.demand(anchor in anchors, name_of(page), target)

    def test_files_that_are_named_exist(self):
        """Of a program its source will do, of a library its folder."""
        pattern = r"`(?:build/)?((?:apps|cuda|docs|grc|lib|python|tests)/[\w./-]+)"
        for page in PAGES:
            for name in re.findall(pattern, page.read_text()):
                found = [*ROOT.glob(name), *ROOT.glob(name + ".c*")]
                library = name.endswith(".so") and (ROOT / name).parent.exists()
                self.demand(found or library, name_of(page), name)

    def test_figures_are_small_and_used(self):
        text = "".join(page.read_text() for page in PAGES)
        for figure in sorted((ROOT / "docs/figures").glob("*.png")):
            self.demand(figure.name in text, figure.name, "on no page")
            size = figure.stat().st_size
            self.demand(size < LARGEST_FIGURE, figure.name, size, "bytes")

    def test_every_block_has_one_page(self):
        on_pages = [n for page in BLOCK_PAGES for n in names_of(page)]
        for name in sorted({*blocks(), *on_pages, "gnuradio.cufilter.iir"}):
            self.demand(on_pages.count(name) == 1, name, on_pages.count(name), "pages")
            known = name in blocks() or name.startswith("gnuradio.")
            self.demand(known, name, "no block")

    def test_every_public_name_is_in_the_manual(self):
        text = "".join(page.read_text() for page in PAGES)
        for module, name, _ in public():
            full = "pfb." + name if module is pfb else name
            # "fft_filter_ccc, _ccf"
            short = name in blocks() and "`_%s`" % name.split("_")[-1]
            self.demand(re.search(rf"\b{full}\b", text) or short and short in text,
                        module.__name__, name)

    def test_pages_name_all_parameters_and_methods(self):
        for page in BLOCK_PAGES:
            text = page.read_text()
            for name in names_of(page):
                block = blocks().get(name)
                for method in own(block) if block else ():
                    self.demand(re.search(rf"`[^`\n]*\b{method}\(", text), name, method)
                for parameter in documented(block.__init__)[1] if block else ():
                    self.demand(f"`{parameter}`" in text, name, parameter)

    def test_pages_have_a_figure_a_snippet_and_what_grc_calls_them(self):
        text = ""
        for page in BLOCK_PAGES:
            self.demand("](../figures/" in page.read_text(), name_of(page), "no figure")
            self.demand("\n```python\n" in page.read_text(), name_of(page), "no snippet")
            text += re.sub(r"\s+", " ", page.read_text())
        for file in sorted((ROOT / "grc").glob("*.block.yml")):
            label = yaml.safe_load(file.read_text())["label"]
            self.demand(f"*{label}*" in text, file.name, label)

    def test_blocks_of_grc_explain_their_parameters(self):
        for file in sorted((ROOT / "grc").glob("*.block.yml")):
            block = yaml.safe_load(file.read_text())
            text = re.sub(r"\s+", " ", block["documentation"]).lower()
            for parameter in block["parameters"]:
                label = parameter.get("label", "type").split(" (")[0].lower()
                plain = not label.startswith("${") and label not in (
                    "type", "bus connections", "gui hint")
                self.demand(not plain or label in text, file.name, label)


class Snippets(Manual):
    def test_python_is_fenced(self):
        for page in PAGES:
            for line in re.findall(r"^ {4}(?:import|from) \w.*$", page.read_text(), re.M):
                self.demand(False, name_of(page), line)

    def test_python_runs(self):
        """The snippets of a page one after the other, in a folder of their own; they
        print what stands behind "print(...)  # "."""
        for page in PAGES:
            code = re.findall(r"^```python\n(.*?)^```$", page.read_text(), re.M | re.S)
            with self.subTest(page=name_of(page)), \
                    tempfile.TemporaryDirectory() as folder:
                try:
                    self.run_all(name_of(page), code, folder)
                except ImportError as error:
                    if not re.search("scipy|matplotlib", str(error)):
                        raise
                    self.skipTest(str(error))

    def test_c_compiles(self):
        compiler = shutil.which("cc")
        if not compiler:
            self.skipTest("no C compiler")
        for page in PAGES:
            for code in re.findall(r"^```c\n(.*?)^```$", page.read_text(), re.M | re.S):
                command = [compiler, "-std=c11", "-Wall", "-Werror", "-fsyntax-only",
                           f"-I{ROOT}/include", "-xc", "-"]
                done = subprocess.run(command, input=code, text=True, capture_output=True)
                self.demand(done.returncode == 0, name_of(page), done.stderr)

    def run_all(self, name, code, folder):
        space, here = {"__name__": "snippet"}, os.getcwd()
        modules, stock = dict(sys.modules), gnuradio.filter
        os.chdir(folder)
        try:
            for part in code:
                with contextlib.redirect_stdout(io.StringIO()) as output:
                    exec(compile(part, name, "exec"), space)
                promised = re.findall(r"^ *print\(.*\)  # (.*)$", part, re.M)
                said = output.getvalue().split("\n")
                self.demand(all(line in said for line in promised), name, said)
        finally:
            os.chdir(here)
            gnuradio.filter = stock
            sys.modules.update(modules)


class Programs(Manual):
    def test_pages_name_all_options(self):
        """CUFILTER_PROGRAMS is the folder of the programs that were built."""
        if "CUFILTER_PROGRAMS" not in os.environ:
            self.skipTest("CUFILTER_PROGRAMS is not set")
        for name in ("channelize", "bench"):
            page = (ROOT / f"docs/{name}.md").read_text()
            program = Path(os.environ["CUFILTER_PROGRAMS"], f"cufilter-{name}")
            text = subprocess.run([program, "--help"], text=True, check=True,
                                  capture_output=True).stdout
            for option in sorted({*re.findall("--[a-z]+", text)} - {"--help", "--version"}):
                self.demand(option in page, f"docs/{name}.md", option)


class Figures(Manual):
    def test_scripts_draw(self):
        """The quick ones, elsewhere; that they need no more than what is installed."""
        sys.path.insert(0, str(ROOT / "docs/figures"))
        try:
            import drawing
            import make_figures
            import make_wavelet_figures
        except ImportError as error:
            self.skipTest(str(error))
        quick = (make_figures.fft_filter_figure, make_figures.single_pole_figure,
                 make_wavelet_figures.wavelet_figure, make_wavelet_figures.denoise_figure,
                 make_wavelet_figures.threshold_figure)
        with tempfile.TemporaryDirectory() as folder:
            with unittest.mock.patch.object(drawing, "FOLDER", folder):
                for draw in quick:
                    draw()
            drawn = os.listdir(folder)
        self.demand(len(drawn) == len(quick), "a figure is missing", drawn)
        for name in drawn:
            known = (ROOT / "docs/figures" / name).exists()
            self.demand(known, name, "not in docs/figures")


class Docstrings(Manual):
    def check(self, name, thing, about=""):
        text, names = documented(thing)
        self.demand((text + about).strip(), name, "no docstring")
        for parameter in names:
            self.demand(re.search(rf"\b{parameter}\b", text + about), name, parameter)

    def test_name_all_parameters(self):
        for _, name, thing in public():
            if not inspect.isclass(thing):
                self.check(name, thing)
                continue
            self.check(name, thing.__init__, thing.__doc__ or "")
            for method, function in own(thing).items():
                self.check(f"{name}.{method}", function)

    def test_blocks_tell_their_errors(self):
        for name, block in blocks().items():
            self.demand("ValueError" in block.__doc__, name)


class Headers(Manual):
    """What Doxygen does not see: parameters that no comment names. A handle may be named
    once for all, in the comment that opens a header, or a class."""

    def test_c_functions_name_their_parameters(self):
        for file in sorted((ROOT / "include/cufilter").glob("*.h")):
            text = file.read_text()
            opening = re.match(r"/\*.*?\*/\n/\*(.*?)\*/", text, re.S)[1]
            pattern = r"/\*((?:[^*]|\*(?!/))*)\*/\nCUFILTER_C_API ([^;]*);"
            found = re.findall(pattern, text)
            self.demand(len(found) == len(re.findall("^CUFILTER_C_API", text, re.M)),
                        file.name, "a function without a comment")
            for comment, function in found:
                self.check(file.name, function, comment + opening)

    def test_methods_name_their_parameters(self):
        for file in sorted((ROOT / "include/gnuradio/cufilter").glob("*.h")):
            about = ""
            text = file.read_text().replace("{}", "")
            pattern = r"/\*!((?:[^*]|\*(?!/))*)\*/\s*([^;{]*)[;{]"
            for comment, declared in re.findall(pattern, text):
                if re.match(r"template|class|struct", declared):
                    about = comment
                elif "(" in declared:
                    self.check(file.name, declared, comment + about)

    def check(self, file, function, comment):
        inner = function[function.index("(") + 1:function.rindex(")")]
        for parameter in re.sub(r"<[^<>]*>|=[^,]*", "", inner).split(","):
            name = re.findall(r"\w+", parameter)[-1:]
            named = name in ([], ["void"]) or re.search(rf"\b{name[0]}\b", comment)
            title = re.findall(r"(\w+)\(", function)[0]
            self.demand(named, file, title, *name)


if __name__ == "__main__":
    unittest.main()
