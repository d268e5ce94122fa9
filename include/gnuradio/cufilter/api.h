/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Visibility of the blocks' symbols. */
#ifndef INCLUDED_CUFILTER_API_H
#define INCLUDED_CUFILTER_API_H

#include <gnuradio/attributes.h>

#ifdef gnuradio_cufilter_EXPORTS
#define CUFILTER_API __GR_ATTR_EXPORT
#else
#define CUFILTER_API __GR_ATTR_IMPORT
#endif

#endif
