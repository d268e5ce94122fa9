# SPDX-License-Identifier: GPL-3.0-or-later
"""
The descriptions for GNU Radio Companion: each loads, takes the place of the stock one,
and generates Python that runs and C++ that compiles.

CUFILTER_GRC_BLOCKS is the folder of the descriptions (default: grc of the source tree).
"""

import glob
import logging
import os
import shutil
import subprocess
import sys
import tempfile

import yaml
from cufilter_qa import TestCase, main
from gnuradio import gr

# Not /usr/local's as well, whose descriptions of an installed gr-cufilter would win.
os.environ["GR_CONF_GRC_GLOBAL_BLOCKS_PATH"] = os.path.join(
    gr.prefix(), "share", "gnuradio", "grc", "blocks")

HERE = os.path.dirname(os.path.abspath(__file__))
BLOCKS = os.environ.get("CUFILTER_GRC_BLOCKS", os.path.join(HERE, "..", "grc"))
INCLUDE = os.path.join(HERE, "..", "include")
STOCK = {"cufilter_fft_filter_xxx": "fft_filter_xxx",
         "cufilter_fir_filter_xxx": "fir_filter_xxx",
         "cufilter_freq_xlating_fft_filter_ccc": "freq_xlating_fft_filter_ccc",
         "cufilter_freq_xlating_fir_filter_xxx": "freq_xlating_fir_filter_xxx",
         "cufilter_iir_designer": None,
         "cufilter_iir_filter_xxx": "iir_filter_xxx",
         "cufilter_iir_response": None,
         "cufilter_pfb_channelizer_ccf": "pfb_channelizer_ccf",
         "cufilter_pfb_channelizer_vcc": None,
         "cufilter_pfb_synthesizer_ccf": "pfb_synthesizer_ccf",
         "cufilter_single_pole_iir_filter_xx": "single_pole_iir_filter_xx",
         "cufilter_sos_filter_xx": None,
         **{"cufilter_" + name: None for name in (
             "wavelet_ff", "squash_ff", "wvps_ff", "wavelet_denoise_ff", "dwt_ff",
             "idwt_ff", "dwt2_ff", "idwt2_ff", "dwt_stream_xx", "idwt_stream_xx",
             "wavelet_threshold_xx")}}
FIR = [block for block in STOCK if "_fir_" in block or "_fft_" in block]
IIR = ["cufilter_iir_filter_xxx", "cufilter_single_pole_iir_filter_xx",
       "cufilter_sos_filter_xx"]
SAMPLES = [block for block in STOCK if block not in ("cufilter_iir_designer",
                                                     "cufilter_iir_response")]


def our_blocks():
    return sorted(os.path.basename(path)[:-len(".block.yml")]
                  for path in glob.glob(os.path.join(BLOCKS, "cufilter_*.block.yml")))


def environment(folder):
    """Our descriptions in GRC's path, and the folder as home."""
    return {**os.environ, "GRC_BLOCKS_PATH": BLOCKS, "HOME": folder,
            "XDG_CACHE_HOME": folder}


def execute(command, folder, **more):
    """Runs it in the folder, without input; `more` goes to the environment."""
    return subprocess.run(command, env={**environment(folder), **more}, cwd=folder,
                          text=True, timeout=240, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


class Graph:
    """A flowgraph as GRC saves it."""

    def __init__(self, name, language):
        self.name, self.language = name, language
        self.blocks, self.connections = [], []

    def add(self, block_id, name, **parameters):
        self.blocks.append({"name": name, "id": block_id, "parameters": parameters,
                            "states": {"coordinate": [0, 0], "rotation": 0,
                                       "state": "enabled"}})

    def add_ends(self, name, n, items, vlens=("1", "1")):
        """NAME_source, which NAME_head ends after n items, and NAME_sink; their types."""
        self.add("blocks_null_source", name + "_source", type=items[0], num_outputs="1",
                 vlen=vlens[0], bus_structure_source="")
        self.add("blocks_head", name + "_head", type=items[0], vlen=vlens[0], num_items=n)
        self.add("blocks_null_sink", name + "_sink", type=items[1], num_inputs="1",
                 vlen=vlens[1], bus_structure_sink="")
        self.connect(name + "_source", name + "_head")

    def connect(self, *names):
        """The first ports of each two neighbours."""
        self.connections += [[a, "0", b, "0"] for a, b in zip(names, names[1:])]

    def add_change(self, code, counts):
        """Once it runs, runs the code; stops when the blocks have written their counts of
        items, or after a minute, when what they print tells what is missing."""
        self.add("snippet", "change", section="main_after_start", priority="0",
                 code="import time\n" + code + "\n"
                      "deadline = time.monotonic() + 60\n"
                      "while time.monotonic() < deadline and any(\n"
                      "        getattr(self, name).nitems_written(0) < n\n"
                      "        for name, n in %r.items()):\n"
                      "    time.sleep(0.01)\n"
                      "self.stop()" % counts)

    def save(self, folder):
        path = os.path.join(folder, self.name + ".grc")
        with open(path, "w") as file:
            yaml.safe_dump({
                "options": {"parameters": {"id": self.name, "generate_options": "no_gui",
                                           "output_language": self.language,
                                           "run_options": "run"},
                            "states": {"coordinate": [0, 0], "rotation": 0,
                                       "state": "enabled"}},
                "blocks": self.blocks, "connections": self.connections,
                "metadata": {"file_format": 1}}, file)
        return path


class Grc(TestCase):
    def compile(self, path, folder):
        result = execute(["grcc", "-o", folder, path], folder)
        self.assertEqual(result.returncode, 0, result.stdout)
        name = os.path.splitext(os.path.basename(path))[0]
        script = os.path.join(folder, name + ".py")
        self.assertTrue(os.path.exists(script), result.stdout)
        return script

    def run_script(self, script, *arguments):
        result = execute([sys.executable, script, *arguments], os.path.dirname(script))
        self.assertEqual(result.returncode, 0, result.stdout)
        return result.stdout

    def compile_cpp(self, graph):
        """Generates the graph's C++ and compiles it; gives its text."""
        compiler = shutil.which("g++") or shutil.which("c++")
        if not compiler or not shutil.which("pkg-config"):
            self.skipTest("no C++ compiler or no pkg-config")
        flags = subprocess.run(["pkg-config", "--cflags", "gnuradio-blocks"], text=True,
                               stdout=subprocess.PIPE)
        if flags.returncode:
            self.skipTest("no headers of GNU Radio")
        with tempfile.TemporaryDirectory() as folder:
            result = execute(["grcc", "-o", folder, graph.save(folder)], folder)
            source = os.path.join(folder, graph.name, graph.name + ".cpp")
            self.assertTrue(os.path.exists(source), result.stdout)
            with open(source) as file:
                text = file.read()
            result = execute([compiler, "-std=c++17", "-fsyntax-only",
                              *flags.stdout.split(), "-I" + INCLUDE, source], folder)
        self.assertEqual(result.returncode, 0, result.stdout)
        return text


class Descriptions(Grc):
    @classmethod
    def setUpClass(cls):
        from gnuradio.grc.core.platform import Platform

        class Recorder(logging.Handler):
            def __init__(self):
                super().__init__(logging.WARNING)
                self.records = []

            def emit(self, record):
                self.records.append(record.getMessage())

        cls.log = Recorder()
        logging.getLogger("gnuradio.grc").addHandler(cls.log)
        cls.platform = Platform(version=gr.version(), version_parts=(
            gr.major_version(), gr.api_version(), gr.minor_version()),
            prefs=gr.prefs())
        cls.platform.build_library([BLOCKS] + cls.platform.config.block_paths)

    def test_all_load_without_a_complaint(self):
        self.assertEqual([text for text in self.log.records if "cufilter" in text], [])
        self.assertEqual(sorted(STOCK), our_blocks())
        for block in our_blocks():
            self.assertEqual(self.platform.blocks[block].category[0], "cufilter")
            self.assertTrue(self.platform.blocks[block].documentation[""].strip())

    def test_whole_tree(self):
        """The tree names the blocks there are, and no others."""
        with open(os.path.join(BLOCKS, "cufilter.tree.yml")) as file:
            (folders,) = yaml.safe_load(file).values()
        named = [block for folder in folders for blocks in folder.values()
                 for block in blocks]
        self.assertEqual(sorted(named), our_blocks())

    def test_every_parameter_of_stock_is_there(self):
        for ours, theirs in STOCK.items():
            if not theirs:
                continue
            parameters = {p["id"]: p for p in self.platform.blocks[ours].parameters_data}
            for theirs in self.platform.blocks[theirs].parameters_data:
                mine = parameters[theirs["id"]]
                for key in ("dtype", "default", "options"):
                    self.assertEqual(mine.get(key), theirs.get(key), theirs["id"])

    def errors(self, block, **values):
        graph = self.platform.make_flow_graph()
        element = graph.new_block(block)
        for key, value in {"id": "one", **values}.items():
            element.params[key].set_value(value)
        graph.rewrite()
        graph.validate()
        return [text for text in element.get_error_messages()
                if "Source - " not in text and "Sink - " not in text]

    def test_checks(self):
        for block in FIR:
            with self.subTest(block=block):
                good = {"taps": "[1]", **({"samp_rate": "1"} if "xlating" in block else {})}
                self.assertEqual(self.errors(block, **good), [])
                self.assertEqual(self.errors(block, **{**good, "device": "0"}), [])
                for values in ({"decim": "0"}, {"decim": "-2"}, {"decim": "1.5"},
                               {"taps": "[]"}, {"taps": "'x'"}, {"device": "-3"},
                               {"batch_items": "-1"}, {"samp_delay": "-1"}):
                    self.assertNotEqual(
                        self.errors(block, **{**good, **values}), [], values)
                if "xlating" in block:
                    for rate in ("0", "-1", "'x'"):
                        self.assertNotEqual(self.errors(block, taps="[1]",
                                                        samp_rate=rate), [], rate)

    def test_checks_of_filter_banks(self):
        for block, good, bad in (
                ("cufilter_pfb_channelizer_ccf",
                 ({"nchans": "4"}, {"nchans": "4", "taps": "[]"},
                  {"nchans": "40", "ports": "2", "ch_map": "[38, 1]", "osr": "2"}),
                 ({"nchans": "0"}, {"nchans": "16385"}, {"osr": "0.5"}, {"osr": "3"},
                  {"ports": "3"}, {"ports": "-1"}, {"ch_map": "[0, 2]"},
                  {"ch_map": "[-1, 0]"}, {"ch_map": "[1]"}, {"taps": "'x'"})),
                ("cufilter_pfb_channelizer_vcc",
                 ({}, {"nchans": "4", "ch_map": "[3, 3, 0]", "osr": "4 / 3"}),
                 ({"nchans": "0"}, {"osr": "0.5"}, {"osr": "3"}, {"ch_map": "[2]"})),
                ("cufilter_pfb_synthesizer_ccf",
                 ({"numchans": "4", "connections": "3"},
                  {"twox": "True", "connections": "4", "ch_map": "[3, 0, 1, 2]"}),
                 ({"numchans": "0"}, {"connections": "3"}, {"connections": "0"},
                  {"ch_map": "[0, 2]"}, {"ch_map": "[0]"},
                  {"twox": "True", "numchans": "8193"}))):
            size = "numchans" if "synth" in block else "nchans"
            for values in good:
                self.assertEqual(self.errors(block, **{"taps": "[1]", **values}), [],
                                 values)
            for values in bad + ({"device": "-3"}, {"batch_items": "-1"},
                                 {"samp_delay": "-1"}):
                with self.subTest(block=block, values=values):
                    self.assertNotEqual(self.errors(
                        block, **{size: "2", "taps": "[1]", **values}), [])

    def test_checks_of_iir_filters(self):
        rate = {"samp_rate": "48e3"}
        edges = {"cutoff": "4.8e3", "cutoff2": "9.6e3", **rate}
        for block, good, bad in (
                ("cufilter_iir_filter_xxx",
                 ({"fftaps": "[1]", "fbtaps": "[1, 0.5]"}, {"type": "ccz", "fftaps": "[]",
                                                            "fbtaps": "[1, 0.5j]"}),
                 ({"fftaps": "'x'"}, {"device": "-3"}, {"batch_items": "-1"})),
                ("cufilter_single_pole_iir_filter_xx",
                 ({}, {"alpha": "0"}, {"alpha": "1e-4", "vlen": "2048"}),
                 ({"alpha": "1.1"}, {"alpha": "-0.1"}, {"vlen": "0"}, {"device": "-3"})),
                ("cufilter_sos_filter_xx",
                 ({}, {"sos": "[[1, 2, 1, 1, 0, 0.5]] * 32", "steady_start": "True"}),
                 ({"sos": "[]"}, {"sos": "[[1, 2]]"}, {"sos": "[1, 0, 0, 1, 0, 0]"},
                  {"sos": "[[1, 0, 0, 0, 0, 0]]"}, {"sos": "[[1, 2, 1, 1, 0, 0.5]] * 33"},
                  {"vlen": "0"}, {"batch_items": "-1"})),
                ("cufilter_iir_designer",
                 (edges, {**edges, "band": "notch"}, {**edges, "family": "ellip"},
                  {**edges, "band": "bandpass"}),
                 ({**edges, "order": "0"}, {**edges, "order": "65"},
                  {**edges, "cutoff": "24e3"}, {**edges, "ripple": "0"},
                  {**edges, "band": "bandstop", "cutoff": "9.6e3"},
                  {**edges, "samp_rate": "'x'"})),
                ("cufilter_iir_response",
                 (rate,), ({"sos": "[]", **rate}, {"samp_rate": "0"}))):
            for values in good:
                self.assertEqual(self.errors(block, **values), [], (block, values))
            for values in bad:
                with self.subTest(block=block, values=values):
                    self.assertNotEqual(self.errors(block, **values), [])


class Flowgraphs(Grc):
    def graph(self, name, language="python", taps="[gain, 1, 0.5]"):
        """One of each block and type, each on its own source, with taps that change and
        messages connected."""
        graph = Graph(name, language)
        add = graph.add
        add("variable", "gain", value="2")
        add("variable", "variable_taps", value="[2.5, 1.0, 0.5]")
        if language == "python":
            add("blocks_message_strobe", "strobe", period="100",
                msg='pmt.cons(pmt.intern("taps"), pmt.init_f32vector(1, [1]))')
        for block in FIR:
            with open(os.path.join(BLOCKS, block + ".block.yml")) as file:
                types = yaml.safe_load(file)["parameters"][0]
            attributes = types.get("option_attributes",
                                   {"input": ["complex"], "output": ["complex"]})
            for i, kind in enumerate(types.get("options", ["ccc"])):
                here = "_".join(block.split("_")[1:-2]) + "_" + kind
                graph.add_ends(here, "100000", (attributes["input"][i],
                                                attributes["output"][i]))
                more = {"type": kind} if "options" in types else {}
                if "xlating" in block:
                    more.update(center_freq="gain * 100", samp_rate="1000")
                add(block, here, decim="2", taps=taps, samp_delay="1", device="-1",
                    batch_items="20000", **more)
                graph.connect(here + "_head", here, here + "_sink")
                if language == "python":
                    graph.connections.append(["strobe", "strobe", here, "cmd"])
        self.add_banks(graph, taps)
        self.add_recursive(graph, taps)
        if language == "python":
            self.add_snippets(graph)
        return graph

    @staticmethod
    def add_banks(graph, taps):
        """A channelizer of each kind, and a synthesizer behind the first one."""
        settings = {"taps": taps, "samp_delay": "1", "device": "-1",
                    "batch_items": "20000"}
        add = graph.add
        add("variable", "channels", value="[3, 1]")
        for name, n_out in (("banks", "1"), ("vectors", "2")):
            graph.add_ends(name, "100000", ("complex", "complex"), ("1", n_out))
        add("cufilter_pfb_channelizer_ccf", "split", nchans="4", ports="2", osr="2",
            ch_map="channels", **settings)
        add("cufilter_pfb_synthesizer_ccf", "join", numchans="4", connections="2",
            twox="True", ch_map="channels", **settings)
        add("cufilter_pfb_channelizer_vcc", "vector_split", nchans="4", osr="2",
            ch_map="channels", **settings)
        graph.connect("banks_head", "split", "join", "banks_sink")
        graph.connections.append(["split", "1", "join", "1"])
        graph.connect("vectors_head", "vector_split", "vectors_sink")
        if graph.language == "python":
            graph.connections += [["strobe", "strobe", name, "cmd"]
                                  for name in ("split", "join", "vector_split")]

    @staticmethod
    def add_recursive(graph, taps):
        """IIR filters of each type, the last ones' sections from a designer."""
        if graph.language == "python":
            graph.add("cufilter_iir_designer", "design", band="bandpass", family="ellip",
                      order="3 + gain", samp_rate="48e3", cutoff="300", cutoff2="3400",
                      plot="response.png")
        for block in IIR:
            with open(os.path.join(BLOCKS, block + ".block.yml")) as file:
                types = yaml.safe_load(file)["parameters"][0]
            for i, kind in enumerate(types["options"]):
                here = block.split("_")[1] + "_" + kind
                item = types["option_attributes"].get("input", types["options"])[i]
                values = {"fftaps": taps, "fbtaps": taps.replace("1,", "0.1,"),
                          "alpha": "gain / 100",
                          "sos": "design" if graph.language == "python" else
                                 "[[1, 2, 1, 1, -0.5, 0.25]]"}
                graph.add_ends(here, "100000", (item, item))
                names = {"iir": ("fftaps", "fbtaps"), "single": ("alpha",),
                         "sos": ("sos",)}[block.split("_")[1]]
                graph.add(block, here, type=kind, device="-1", batch_items="20000",
                          **{name: values[name] for name in names})
                graph.connect(here + "_head", here, here + "_sink")
                if graph.language == "python":
                    graph.connections.append(["strobe", "strobe", here, "cmd"])

    @staticmethod
    def add_snippets(graph):
        graph.add("snippet", "report", section="main_after_stop", priority="0",
                  code="\n".join("print('{0}', self.{0}.nitems_written(0), "
                                 "getattr(self.{0}, 'decimation', int)())"
                                 .format(b["name"])
                                 for b in graph.blocks if b["id"] in SAMPLES))
        graph.add_change("self.set_gain(3)\nself.set_channels([0, 2])",
                         Flowgraphs.counts(graph))

    @staticmethod
    def counts(graph):
        """Items out of each filter, of 100000."""
        return {b["name"]: 200000 if b["name"] == "join" else
                100000 if b["id"] in IIR else 50000
                for b in graph.blocks if b["id"] in SAMPLES}

    def test_every_type_runs(self):
        with tempfile.TemporaryDirectory() as folder:
            graph = self.graph("every_type")
            text = self.run_script(self.compile(graph.save(folder), folder))
            counts = self.counts(graph)
            self.assertEqual(len(counts), 28)
            for name, n in counts.items():
                self.assertIn("%s %d %d\n" % (name, n, 2 if n == 50000 else 0), text)
            self.assertTrue(os.path.getsize(os.path.join(folder, "response.png")))

    def test_cpp_of_every_type_compiles(self):
        """GRC makes vectors of double of its variables; taps must fit all the same."""
        text = self.compile_cpp(self.graph("every_type", "cpp", "variable_taps"))
        self.assertEqual(text.count("set_taps"), 26)


if __name__ == "__main__":
    main()
