# SPDX-License-Identifier: GPL-3.0-or-later
"""The wavelet blocks in GNU Radio Companion: checks, and flowgraphs that run and compile."""

import os
import tempfile

import grc_test
from cufilter_qa import main
from grc_test import Graph, Grc

# Parameters, items in and out, with as many of each kind that breaks a rule.
WAVELETS = {
    "wavelet_ff": ({"size": "64", "order": "8", "forward": "False"}, 64, 64,
                   ({"size": "63"}, {"size": "0"}, {"order": "5"})),
    "squash_ff": ({"igrid": "grid", "ogrid": "[0.5, 2]"}, 4, 2, ({"igrid": "[1]"},)),
    "wvps_ff": ({"ilen": "100"}, 100, 7, ({"ilen": "1"},)),
    "wavelet_denoise_ff": ({"size": "100", "wavelet": "which", "levels": "2",
                            "kind": "garrote", "threshold": "limit"}, 100, 100,
                           ({"threshold": "-1"}, {"levels": "65"}, {"wavelet": "db99"})),
    "dwt_ff": ({"size": "100", "wavelet": "db2", "mode": "zero", "levels": "2"}, 100,
               105, ({"size": "0"}, {"wavelet": "db99"}, {"levels": "65"})),
    "idwt_ff": ({"size": "100", "wavelet": "db2", "mode": "zero", "levels": "2"}, 105,
                100, ({"size": "0"}, {"wavelet": "db99"}, {"levels": "-2"})),
    "dwt2_ff": ({"rows": "10", "cols": "8", "wavelet": "which", "mode": "periodization",
                 "levels": "1"}, 80, 80, ({"rows": "0"}, {"cols": "0"})),
    "idwt2_ff": ({"rows": "10", "cols": "8", "wavelet": "which", "mode": "periodization",
                  "levels": "1"}, 80, 80, ({"rows": "0"}, {"wavelet": "sym"})),
}

# Items of output 0 from 8000 samples, two levels.
STREAMS = {"dwt_stream_ff": 2000, "dwt_stream_cc": 2000, "idwt_stream_ff": 8000,
           "idwt_stream_cc": 8000, "wavelet_threshold_ff": 4000,
           "wavelet_threshold_cc": 4000}


class Descriptions(Grc):
    errors = grc_test.Descriptions.errors

    @classmethod
    def setUpClass(cls):
        grc_test.Descriptions.setUpClass()
        cls.platform = grc_test.Descriptions.platform

    def test_checks(self):
        for name, (good, _, _, bad) in WAVELETS.items():
            block = "cufilter_" + name
            plain = {**good, **({"wavelet": "db4"} if "wavelet" in good else {}),
                     **({"igrid": "[0, 1, 2, 3]"} if "igrid" in good else {}),
                     **({"threshold": "1.5"} if "threshold" in good else {})}
            self.assertEqual(self.errors(block, **plain), [], name)
            for values in bad + ({"device": "-3"}, {"batch_items": "-1"}):
                with self.subTest(block=block, values=values):
                    self.assertNotEqual(self.errors(block, **{**plain, **values}), [])

    def test_checks_of_streams(self):
        block = "cufilter_wavelet_threshold_xx"
        self.assertEqual(self.errors(block, type="cc", vlen="10"), [])
        for values in ({"threshold": "-1"}, {"vlen": "0"}, {"threshold": "'x'"}):
            self.assertNotEqual(self.errors(block, **values), [])
        for block in ("cufilter_dwt_stream_xx", "cufilter_idwt_stream_xx"):
            self.assertEqual(self.errors(block, type="cc", wavelet="sym8"), [])
            for values in ({"levels": "0"}, {"levels": "17"}, {"wavelet": "db99"},
                           {"batch_items": "-1"}):
                with self.subTest(block=block, values=values):
                    self.assertNotEqual(self.errors(block, **values), [])


class Flowgraphs(Grc):
    def graph(self, name, language):
        graph = Graph(name, language)
        add = graph.add
        add("variable", "grid", value="[0.0, 1.0, 2.0, 4.0]")
        if language == "python":
            add("variable", "which", value="'bior3.3'")
        add("variable", "limit", value="2.5")
        for block, (parameters, n_in, n_out, _) in WAVELETS.items():
            # Variables that are strings: GRC's C++ has them in single quotes.
            literals = ({"wavelet": "bior3.3"} if language == "cpp" and
                        parameters.get("wavelet") == "which" else {})
            graph.add_ends(block, "1000", ("float", "float"), (str(n_in), str(n_out)))
            add("cufilter_" + block, "do_" + block, device="-1", batch_items="10",
                **{**parameters, **literals})
            graph.connect(block + "_head", "do_" + block, block + "_sink")
        self.add_streams(graph)
        if language == "python":
            add("snippet", "report", section="main_after_stop", priority="0",
                code="\n".join("print('{0}', self.do_{0}.nitems_written(0))".format(b)
                               for b in [*WAVELETS, *STREAMS]))
            graph.add_change("self.set_limit(3)\n"
                             "print('limit', self.do_wavelet_denoise_ff.threshold())",
                             {"do_" + name: n for name, n in
                              [*((name, 1000) for name in WAVELETS), *STREAMS.items()]})
        return graph

    @staticmethod
    def add_streams(graph):
        """A filter bank of each type, and its inverse behind it."""
        for kind, item in (("ff", "float"), ("cc", "complex")):
            graph.add_ends(kind, "8000", (item, item))
            graph.add("cufilter_wavelet_threshold_xx", "do_wavelet_threshold_" + kind,
                      type=kind, threshold="limit", kind="hard", batch_items="1000")
            for name in ("dwt_stream_", "idwt_stream_"):
                graph.add("cufilter_" + name + "xx", "do_" + name + kind, type=kind,
                          wavelet="db2", levels="2", batch_items="1000")
            bank, inverse = "do_dwt_stream_" + kind, "do_idwt_stream_" + kind
            threshold = "do_wavelet_threshold_" + kind
            graph.connect(kind + "_head", bank)
            graph.connect(inverse, kind + "_sink")
            graph.connections += [[bank, "0", inverse, "0"], [bank, "1", inverse, "1"],
                                  [bank, "2", threshold, "0"],
                                  [threshold, "0", inverse, "2"]]

    def test_every_block_runs(self):
        with tempfile.TemporaryDirectory() as folder:
            path = self.graph("wavelets", "python").save(folder)
            text = self.run_script(self.compile(path, folder))
            for name in WAVELETS:
                self.assertIn(name + " 1000\n", text)
            for name, n in STREAMS.items():
                self.assertIn("{} {}\n".format(name, n), text)
            self.assertIn("limit 3.0", text)

    def test_cpp_compiles(self):
        self.compile_cpp(self.graph("wavelets", "cpp"))


if __name__ == "__main__":
    main()
