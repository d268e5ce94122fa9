/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whether Python and GNU Radio Companion find what this build installs. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "info.h"
#include "info_config.h"

#ifndef CUFILTER_INFO_PYTHON

void info_print_gnuradio(void)
{
    info_title("GNU Radio");
    printf("  not part of this build: the C library alone\n");
}

#else

/* What only Python knows. Answers in lines "key value". */
static const char probe[] =
    "import os, sys\n"
    "module_dir, blocks_dir = sys.argv[1:3]\n"
    "real = os.path.realpath\n"
    "print('python_path', int(real(module_dir) in [real(p or '.') for p in sys.path]))\n"
    "paths = [os.path.expanduser('~/.grc_gnuradio'), os.getenv('GRC_BLOCKS_PATH', '')]\n"
    "try:\n"
    "    from gnuradio import gr\n"
    "    print('gnuradio', gr.version())\n"
    "    for key in ('local_blocks_path', 'global_blocks_path'):\n"
    "        paths.append(gr.prefs().get_string('grc', key, ''))\n"
    "except Exception as e:\n"
    "    print('gnuradio_error', e)\n"
    "found = [real(os.path.expanduser(p)) for p in ':'.join(paths).split(':') if p]\n"
    "print('grc_path', int(real(blocks_dir) in found))\n"
    "try:\n"
    "    from gnuradio import cufilter\n"
    "    print('imported', os.path.dirname(cufilter.__file__))\n"
    "except Exception as e:\n"
    "    print('import_error', e)\n";

struct answer {
    char gnuradio[128], gnuradio_error[512], imported[512], import_error[512];
    char python_path[8], grc_path[8];
};

static void take_line(struct answer* answer, char* line)
{
    const struct {
        const char* key;
        char* value;
        size_t size;
    } fields[] = {
        {"gnuradio", answer->gnuradio, sizeof answer->gnuradio},
        {"gnuradio_error", answer->gnuradio_error, sizeof answer->gnuradio_error},
        {"imported", answer->imported, sizeof answer->imported},
        {"import_error", answer->import_error, sizeof answer->import_error},
        {"python_path", answer->python_path, sizeof answer->python_path},
        {"grc_path", answer->grc_path, sizeof answer->grc_path},
    };
    char* space = strchr(line, ' ');
    line[strcspn(line, "\n")] = '\0';
    if (!space)
        return;
    *space = '\0';
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; ++i)
        if (strcmp(line, fields[i].key) == 0)
            snprintf(fields[i].value, fields[i].size, "%s", space + 1);
}

/* Runs the probe; false where Python itself does not run. */
static bool ask_python(struct answer* answer)
{
    int ends[2];
    char line[1024];
    int status = -1;
    memset(answer, 0, sizeof *answer);
    fflush(stdout);
    if (pipe(ends) != 0)
        return false;
    const pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        execl(CUFILTER_INFO_PYTHON, "python3", "-c", probe, CUFILTER_INFO_PYTHON_DIR,
              CUFILTER_INFO_GRC_DIR, (char*)NULL);
        _exit(127);
    }
    close(ends[1]);
    FILE* reply = fdopen(ends[0], "r");
    while (reply && fgets(line, sizeof line, reply))
        take_line(answer, line);
    if (reply)
        fclose(reply);
    if (child > 0)
        waitpid(child, &status, 0);
    return child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static const char install_command[] =
    "sudo cmake --install " CUFILTER_INFO_BUILD_DIR " && sudo ldconfig";

static bool exists(const char* path)
{
    struct stat info;
    return stat(path, &info) == 0;
}

static void end_line(enum info_colour colour, const char* text)
{
    info_coloured(colour, "%s", text);
    putchar('\n');
}

static void print_remedy(const char* text)
{
    printf("  %-10s ", "remedy");
    end_line(INFO_NOTE, text);
}

static void print_module(const struct answer* answer)
{
    const char* folder = CUFILTER_INFO_PYTHON_DIR "/gnuradio/cufilter";
    printf("  %-10s %s  ", "module", folder);
    if (!exists(folder)) {
        end_line(INFO_BAD, "not installed");
        print_remedy(install_command);
    } else if (answer->python_path[0] != '1') {
        end_line(INFO_BAD, "not on Python's path");
        print_remedy("export PYTHONPATH=" CUFILTER_INFO_PYTHON_DIR
                     "${PYTHONPATH:+:$PYTHONPATH}");
    } else if (answer->import_error[0]) {
        end_line(INFO_BAD, "import fails");
        printf("  %-10s %s\n", "", answer->import_error);
        if (strstr(answer->import_error, "shared object"))
            print_remedy("sudo ldconfig");
    } else if (strcmp(answer->imported, folder) != 0) {
        printf("hidden by ");
        end_line(INFO_NOTE, answer->imported);
    } else {
        end_line(INFO_GOOD, "imports");
    }
}

static void print_blocks(const struct answer* answer)
{
    printf("  %-10s %s  ", "GRC blocks", CUFILTER_INFO_GRC_DIR);
    if (!exists(CUFILTER_INFO_GRC_DIR "/cufilter.tree.yml")) {
        end_line(INFO_BAD, "not installed");
        print_remedy(install_command);
    } else if (answer->grc_path[0] != '1') {
        end_line(INFO_BAD, "not on GRC's path");
        print_remedy("export GRC_BLOCKS_PATH=" CUFILTER_INFO_GRC_DIR
                     "${GRC_BLOCKS_PATH:+:$GRC_BLOCKS_PATH}");
    } else {
        end_line(INFO_GOOD, "on GRC's path");
    }
}

void info_print_gnuradio(void)
{
    struct answer answer;
    info_title("GNU Radio");
    if (!ask_python(&answer)) {
        end_line(INFO_BAD, "  " CUFILTER_INFO_PYTHON " does not run");
        return;
    }
    printf("  %-10s %s\n", "version",
           answer.gnuradio[0] ? answer.gnuradio : answer.gnuradio_error);
    print_module(&answer);
    print_blocks(&answer);
}

#endif
