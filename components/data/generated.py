"""What the sources that read no file share: a made frame becomes an extract with a digest of its content."""

import pandas as pd
import pyarrow as pa

from components.data.extract import Extract, InputFact, cells_of, content_digest


def extract(name: str, frame: pd.DataFrame, scheme: str = "generated") -> Extract:
    """Return the extract of a frame that was made rather than read.

    Parameters
    ----------
    name : str
        What was made; the record's uri is ``scheme:name``.
    frame : pandas.DataFrame
    scheme : str, optional
    """
    names = tuple(str(column) for column in frame.columns)
    columns = tuple(cells_of(pa.array(frame[column], from_pandas=True)) for column in frame.columns)
    fact = InputFact(f"{scheme}:{name}", None, content_digest(names, columns), *frame.shape)
    return Extract(names, columns, len(frame), (fact,))
