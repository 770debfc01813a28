"""The generaliser tree (Goldsteen et al., arXiv 2008.04113): its leaves are cells."""
